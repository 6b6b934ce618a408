package engine

import (
	"fmt"
	"path/filepath"
	"strings"

	"ingot/engine/device"
	"ingot/engine/gguf"
	"ingot/engine/tensor"
	"ingot/engine/token"
	"ingot/kernels/cpu"
)

// fileTypes names general.file_type, as converters write it.
var fileTypes = map[int64]string{0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
	12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
	21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M",
	30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4"}

// FileInfo is what a model file says about itself, without loading it.
type FileInfo struct {
	Info
	Parts   []string // all files of a split model
	Tensors int
	Types   map[string]int // tensors by type
	// KVBytes is the cache of keys and values for one token, StateBytes the recurrent state of a sequence.
	KVBytes, StateBytes int64
	// Problem says in one sentence why the engine cannot run the file; "" if it can.
	Problem string
}

// Inspect reads a file's header. An error means that it is no whole GGUF file; a model that is whole but cannot be
// run has a Problem.
func Inspect(path string) (*FileInfo, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	i := &FileInfo{Info: fileInfo(f, path), Parts: f.Parts(), Tensors: len(f.Tensors()), Types: map[string]int{}}
	for _, t := range f.Tensors() {
		i.Types[t.Type.String()]++
	}
	e := &Engine{file: f}
	model, _, err := bind(f)
	if err == nil {
		e.vocab, err = token.New(f.Meta())
	}
	if err == nil {
		err = e.loadTemplate()
	}
	if err != nil {
		i.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
		return i, nil
	}
	i.NoVocab = !e.vocab.HasTexts()
	i.CanThink = e.template != nil && e.template.CanThink()
	h := model.Common()
	i.Layers = h.Layers
	for _, s := range h.States {
		if s.Recurrent() {
			conv, delta := s.PlaneFloats()
			i.StateBytes += int64(conv+delta) * 4
		} else {
			i.KVBytes += 2 * int64(s.KVHeads) * int64(s.KVDim) * int64(tensor.F16.Size())
		}
	}
	return i, nil
}

// fileInfo fills in what the metadata and the tensor table tell.
func fileInfo(f *gguf.File, path string) Info {
	m := f.Meta()
	i := Info{Path: path, FileBytes: f.Size(), Vocab: vocabSize(f)}
	i.Architecture, _ = m.String("general.architecture")
	if i.Name, _ = m.String("general.name"); i.Name == "" {
		i.Name = filepath.Base(path)
	}
	number := func(key string) int {
		n, _ := m.Int(i.Architecture + "." + key)
		return int(n)
	}
	i.TrainContext, i.Layers, i.Embedding = number("context_length"), number("block_count"), number("embedding_length")
	bytes := map[tensor.Type]int64{}
	for _, t := range f.Tensors() {
		n, _ := tensor.Elements(t.Shape)
		i.Parameters += n
		size, _ := tensor.Bytes(t.Type, t.Shape)
		bytes[t.Type] += size
	}
	if ft, err := m.Int("general.file_type"); err == nil {
		i.Quantization = fileTypes[ft]
	}
	if i.Quantization == "" {
		var most int64
		for t, n := range bytes {
			if n > most || n == most && t.String() < i.Quantization {
				most, i.Quantization = n, t.String()
			}
		}
	}
	template, err := m.String("tokenizer.chat_template")
	i.HasTemplate = err == nil && template != ""
	return i
}

// describe completes e.info, which start began.
func (e *Engine) describe(path string) {
	i := fileInfo(e.file, path)
	i.Context, i.Slots, i.Threads, i.Level, i.Topology = e.info.Context, e.info.Slots, e.info.Threads, e.info.Level, e.info.Topology
	i.Meeting = e.info.Meeting
	i.Layers = e.model.Layers
	i.NoVocab = !e.vocab.HasTexts()
	i.CanThink = e.template != nil && e.template.CanThink()
	e.info = i
}

// Info describes the model.
func (e *Engine) Info() Info { return e.info }

// Status is the engine's present state; it may be called at any time from any goroutine.
func (e *Engine) Status() Status {
	st := e.sched.State()
	s := Status{Prefill: st.Prefill, Decode: st.Decode, Context: e.info.Context, Requests: st.Answered, Generated: st.Tokens}
	for i, slot := range st.Slots {
		s.Slots = append(s.Slots, Slot{ID: i, Busy: slot.Busy, Used: slot.Used, Context: e.info.Context})
		s.ContextUsed = max(s.ContextUsed, slot.Used)
	}
	for i, m := range e.sched.Memory() {
		c := cardOf(e.cards[i].Info())
		c.Used, c.Parts = m.Total(), map[string]int64{"weights": m.Weights, "cache": m.Cache, "state": m.State, "scratch": m.Scratch}
		c.Stage, c.Layers = e.places[i].stage, e.places[i].layers
		s.Cards = append(s.Cards, c)
	}
	return s
}

// Devices lists the compute devices of this machine.
func Devices() ([]Card, error) {
	c, err := newCPU(0, "")
	if err != nil {
		return nil, err
	}
	infos := []device.Info{c.Info()}
	for _, kind := range device.SimtKinds {
		cards, _ := device.SimtCards(kind) // Undriven says why there are none
		for _, c := range cards {
			infos = append(infos, c.Info())
		}
	}
	var all []Card
	for _, i := range infos {
		all = append(all, cardOf(i))
	}
	return all, nil
}

// Undriven says of each kind of graphics driver that has no cards here why that is, a line each.
func Undriven() (lines []string) {
	for _, kind := range device.SimtKinds {
		if _, err := device.SimtCards(kind); err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", kind, err))
		}
	}
	return lines
}

// LongSums says, where GGML_CUDA_ALLREDUCE=nccl asks for it, of each kind of cards which library sums the prompts of their lanes, or why
// none does, a line each.
func LongSums() (lines []string) {
	for _, kind := range device.SimtKinds {
		if line := device.LongSums(kind); line != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", kind, line))
		}
	}
	return lines
}

// Cores is how many physical cores this process may use: the threads an engine starts by default.
func Cores() int { return cpu.Cores() }

// MemoryNodes is over how many memory nodes those cores lie: what a processor can be cut into so that each lane reads memory of its own.
func MemoryNodes() int { return cpu.Nodes() }
