package engine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ingot/engine/gguf"
	"ingot/engine/shape"
)

// PlanOptions says which ways of running a model Plan tells about. Of the options of Open, Cards may also name cards that are not
// here, such as "8xMI50" or "2xRTX3090"; where neither Split nor TPS is set, every topology of the cards is told.
type PlanOptions struct {
	Options
	Sheets []byte // JSON list of further cards: see plan.Sheet
	Depth  int    // positions in use when a token is predicted
	Prompt int    // tokens of the prompt that is predicted; 0: what a slot holds, at most 2048
	// Free: cards that are here have room for what is free now, not for all that they hold. It is not for who has a model loaded that would
	// make way.
	Free bool
}

// Planned is what Plan tells.
type Planned struct {
	Model      string     `json:"model"`
	Parameters int64      `json:"parameters"`
	Bytes      int64      `json:"bytes"` // of the tensors
	Layers     int        `json:"layers"`
	Context    int        `json:"context"`
	Slots      int        `json:"slots"`
	UBatch     int        `json:"ubatch"`
	Prompt     int        `json:"prompt"`
	Topologies []Topology `json:"topologies"`
	Best       int        `json:"recommended"` // index of the recommended one; -1: none fits
}

// Topology is one way of running a model and what it would take.
type Topology struct {
	Split   string  `json:"split"` // -sm
	TPS     int     `json:"tps"`   // -tps
	Layers  int     `json:"ngl"`   // layers on the cards, the head counted as one; -1: all (-ngl)
	Short   string  `json:"short"` // stages and lanes in words
	Stages  []Stage `json:"stages"`
	Decode  float64 `json:"decode"`  // tokens a second of one sequence
	Prefill float64 `json:"prefill"` // tokens a second of a prompt
	Sums    int     `json:"collectives"`
	Fullest int64   `json:"fullest"`           // bytes of the card that has most
	Lacks   int64   `json:"short_by"`          // bytes that the card with least room lacks
	Problem string  `json:"problem,omitempty"` // why it cannot run; "": it can
}

// Stage is a run of layers on a group of cards.
type Stage struct {
	First  int      `json:"first_layer"` // -1: the embedding
	Last   int      `json:"last_layer"`  // the number of layers: the head
	Layers string   `json:"layers"`      // such as "0–31"; "": none
	Lanes  []Lane   `json:"lanes"`
	Pieces []Pieces `json:"weights"`
}

// Lane is a card's share of a stage, in bytes.
type Lane struct {
	Card     string `json:"card"`
	Weights  int64  `json:"weights"`
	Cache    int64  `json:"cache"`
	State    int64  `json:"state"`
	Scratch  int64  `json:"scratch"`
	Overhead int64  `json:"overhead"` // of the driver
	Total    int64  `json:"total"`
	Memory   int64  `json:"memory"` // that the card has
	// Free is what of it is free now, where PlanOptions.Free asked and the card is here.
	Free *int64 `json:"free,omitempty"`
}

// Room is what the card has for the lane.
func (l *Lane) Room() int64 {
	if l.Free != nil {
		return min(*l.Free, l.Memory)
	}
	return l.Memory
}

// Pieces says how the lanes of a stage hold the weights of one name, the layer left out.
type Pieces struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Axis  string  `json:"axis"` // that is divided: "inputs" or "outputs"; "": every lane holds all of it; "host": the host's memory does
	Sizes []int64 `json:"sizes,omitempty"`
	Bytes int64   `json:"bytes"` // of all lanes together
}

// Plan predicts the memory and the speed of a model on cards, which need not be here, without loading it. path is a GGUF file, which
// may end after its tensor table, or a shape file (.json; see engine/shape). The recommended topology is the one that fits and
// takes least time for the prompt and 256 tokens of answer.
func Plan(path string, o PlanOptions) (*Planned, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	f, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	model, weights, err := bind(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	cards, err := o.described()
	if err != nil {
		return nil, err
	}
	p := newPlanner(model, weights, cards, &o)
	if o.Depth >= p.use.Keep.Cells {
		return nil, fmt.Errorf("%w: a token after %d others does not fit a context of %d", ErrBadRequest, o.Depth, p.use.Keep.Cells)
	}
	info := fileInfo(f, path)
	out := &Planned{Model: info.Name, Parameters: info.Parameters, Layers: model.Common().Layers, Context: p.use.Keep.Cells, Slots: p.use.Keep.Slots, UBatch: p.rows, Prompt: p.use.Prompt}
	for _, t := range f.Tensors() {
		out.Bytes += t.Bytes()
	}
	if out.Topologies, err = p.topologies(&o); err != nil {
		return nil, err
	}
	out.Best = best(out.Topologies, p.use.Prompt)
	return out, nil
}

// openTable opens a file's metadata and tensor table, or makes them from a shape.
func openTable(path string) (*gguf.File, error) {
	if st, err := os.Stat(path); err != nil { // opening a pipe would wait for a writer
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: neither a GGUF file nor a shape", path, gguf.ErrNotGGUF)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	start := make([]byte, 1)
	if _, err := io.ReadFull(file, start); err == nil && bytes.Equal(start, []byte("{")) {
		rest, err := io.ReadAll(io.LimitReader(file, shape.MaxFile+1))
		if err != nil {
			return nil, err
		}
		return shape.Read(path, append(start, rest...))
	}
	return gguf.OpenHeader(path)
}

// answered is how long an answer the recommendation thinks of.
const answered = 256

// best is the fitting topology that answers soonest; -1: none fits.
func best(all []Topology, prompt int) int {
	at := -1
	seconds := func(t *Topology) float64 { return float64(prompt)/t.Prefill + answered/t.Decode }
	for i := range all {
		if all[i].Problem == "" && (at < 0 || seconds(&all[i]) < seconds(&all[at])) {
			at = i
		}
	}
	return at
}
