// Package device is the small border between plans and hardware: a Card is a compute device, a Lane is one card's
// share of a loaded model, ready to run batches.
//
// What a lane holds: the weights (packed, where the file is mapped or copied), the caches and states of all slots,
// the arena of activations, and the compiled program. A lane is driven by one thread at a time.
package device

import (
	"errors"
	"fmt"
	"time"

	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
)

var (
	// ErrMemory is returned when a card has not enough memory; the message names the card and the shortfall.
	ErrMemory = errors.New("not enough memory")
	// ErrPeer is returned by a lane whose run came to nothing because another's of its stage did.
	ErrPeer = errors.New("another lane of the stage failed")
	// ErrUnsupported is returned when a card has no kernel for an operation or a type.
	ErrUnsupported = errors.New("not supported by the card")
)

// Card is a compute device.
type Card interface {
	Info() Info
	// Plan is what the planner must know of the card.
	Plan() plan.Card
	// load makes the lanes of a stage; all cards are of the receiver's kind.
	load(cards []Card, specs []Spec) ([]Lane, error)
}

// Load makes the lanes of one stage, specs[i] on cards[i]; the cards are of one kind. A stage of one lane has no
// collectives. The weights' data must stay valid until the lanes are closed, which must happen together.
func Load(cards []Card, specs []Spec) ([]Lane, error) {
	if len(cards) == 0 || len(cards) != len(specs) {
		return nil, fmt.Errorf("%d plans for %d cards", len(specs), len(cards))
	}
	return cards[0].load(cards, specs)
}

// Info describes a card.
type Info struct {
	Name        string // "cpu", "hip:0"
	Description string // the processor's name and what is used of it
	Total, Free int64  // bytes of memory, as the system says now
	Threads     int
	Level       string // instruction-set level of a CPU
	Bus         string // a graphics card's address on the PCI bus, such as "0000:03:00.0"
}

// Spec is what a lane is made from.
type Spec struct {
	Plan    *plan.Plan
	Weights []Weight // by graph.Weight.ID, whole; the lane takes what the plan's graph.Weight.Part says
	Slots   int      // sequences that may exist at once
	Cells   int      // positions a slot holds
	Planes  int      // recurrent states that may exist at once, over all slots
	// Keys and Values are the types of the KV cache: F32, F16, BF16, Q8_0 or Q4_0.
	Keys, Values tensor.Type
	Profile      bool // time every step; see Lane.Profile

	// Repack copies weights into the order the card's kernels read fastest; otherwise they are read where they lie.
	Repack   bool
	Progress func(float64) // of loading, 0 to 1; may be nil
	File     File          // where the weights' data lies; nil: in memory
}

// File is where weights' data comes from. It is asked before data is touched.
type File interface {
	// Need makes data readable where it lies, until the file is closed.
	Need(data []byte) error
	// Read copies data to dst, which is as long, without touching it where it lies.
	Read(dst, data []byte) error
}

// need is File.Need.
func (s *Spec) need(data []byte) error {
	if s.File == nil {
		return nil
	}
	return s.File.Need(data)
}

// source is what the lane holds of a weight, to be copied.
func (s *Spec) source(w *graph.Weight) source {
	src := sourceOf(w, s.Weights[w.ID])
	src.file = s.File
	return src
}

// Weight is a tensor's data; Data is nil for an optional tensor that is absent.
type Weight struct {
	Type tensor.Type
	Data []byte
}

// Seq is one sequence's run of rows in a batch.
type Seq struct {
	Row0, Rows int32
	Slot       int32 // whose cells it owns
	Pos0       int32 // cells 0..Pos0-1 of the slot hold its earlier positions
	PlaneIn    int32 // plane the recurrent state is read from; -1: the state is zero
	PlaneOut   int32 // plane it is written to
}

// Batch is the rows of one run: sequences one after the other, each row a token at the next position.
type Batch struct {
	Tokens []int32
	Outs   []int32 // rows whose logits are wanted, ascending
	Seqs   []Seq
	// Best is how many of the largest logits of each wanted row are enough; 0: all are wanted. A lane may have all of them
	// nevertheless.
	Best int
}

// Scores is what a run says of a wanted row: the logits of all tokens, or the largest of them.
type Scores struct {
	Logits []float32 // [vocab]; where only the best are there, those above -Inf of them, best first, equal ones by id
	IDs    []int32   // the tokens of the best; nil: Logits are all
	// Log goes with the best: the natural log of the sum of exp(logit - the largest) over the whole row.
	Log float64
}

// Memory is the bytes a lane takes, by purpose.
type Memory = plan.Memory

// Lane is one card's share of a model.
type Lane interface {
	// Run computes a batch and returns when its results can be read.
	Run(*Batch) error
	// Scores returns the scores of the batch's i-th wanted row, valid until the next Run. A stage's first lane has them.
	Scores(i int) Scores
	// Hidden returns what the head read for that row, valid until the next Run.
	Hidden(i int) []float32
	// Value returns row r of a value the plan kept (plan.Options.Keep), as the last Run left it.
	Value(l plan.Loc, r int) []float32
	// Indices is Value for values that are numbers of experts.
	Indices(l plan.Loc, r int) []int32
	// Receive copies rows of a value of another lane's plan, as its last run left it, to a place of this one's, which
	// has the same columns: a plan's In from the Out of the stage before. Neither lane may be running.
	Receive(to plan.Loc, rows int, from Lane, at plan.Loc) error
	// CopySlot copies the first cells of one slot's caches to another slot. No run may be in progress.
	CopySlot(from, to, cells int)
	Memory() Memory
	// Work is what a run on so many rows and outputs costs at least: bytes of weights read, and multiply-adds with them.
	Work(rows, outs int) (bytes, macs int64)
	// Profile returns what each kind of step took since the last call, and starts anew; nil where Spec.Profile was not
	// set. No run may be in progress.
	Profile() []Timing
	Close()
}

// Timing is what the steps of one operation, weight type and kernel level did together.
type Timing struct {
	Op, Type, Level    string // Type "": the operation reads no weights and no cache
	Calls, Bytes, MACs int64  // Bytes and MACs as in Lane.Work
	Time               time.Duration
}
