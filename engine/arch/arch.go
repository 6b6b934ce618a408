// Package arch holds the model architectures, one file each, in a fixed order: hyper-parameters, weights, state,
// forward pass. An architecture names no device, no element type and no kernel.
//
// Adding one: a struct that embeds Hyper, a constructor that reads the parameters and declares weights and state,
// a Forward method, and a line in the table below.
package arch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ingot/engine/graph"
)

var (
	// ErrUnknown is returned when a file names an architecture that has no file here.
	ErrUnknown = errors.New("unknown architecture")
	// ErrParameter is returned when a hyper-parameter is missing, of the wrong kind or out of range.
	ErrParameter = errors.New("bad model parameter")
)

// Meta is what an architecture reads its parameters from: the key-value part of a GGUF file.
type Meta interface {
	String(key string) (string, error)
	Int(key string) (int64, error)
	Float(key string) (float64, error)
	Ints(key string) ([]int64, error)
	Value(key string) (any, bool)
}

// Model is an architecture with its parameters filled in.
type Model interface {
	Common() *Hyper
	Forward(b *graph.Builder)
}

var architectures = map[string]func(*reader) Model{
	"gemma4":     newGemma4,
	"gpt-oss":    newGPTOSS,
	"llama":      newLlama,
	"minimax-m2": newMiniMaxM2,
	"qwen2":      newQwen2,
	"qwen3":      newQwen3,
	"qwen3moe":   newQwen3MoE,
	"qwen35":     newQwen35,
	"qwen35moe":  newQwen35MoE,
}

// Names lists the architectures, sorted.
func Names() []string {
	var names []string
	for n := range architectures {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// New reads the parameters of the file's architecture. vocab is the size of the token table.
func New(m Meta, vocab int) (Model, error) {
	name, err := m.String("general.architecture")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParameter, err)
	}
	build, ok := architectures[name]
	if !ok {
		return nil, fmt.Errorf("%w %q; Ingot runs %s", ErrUnknown, name, strings.Join(Names(), ", "))
	}
	r := &reader{meta: m, arch: name}
	var model Model
	if r.start(vocab); len(r.errs) == 0 {
		model = build(r)
	}
	if len(r.errs) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrParameter, sentence(r.errs))
	}
	return model, nil
}

// sentence joins errors in one line.
type sentence []error

func (s sentence) Error() string {
	var texts []string
	for _, e := range s {
		texts = append(texts, e.Error())
	}
	return strings.Join(texts, "; ")
}

func (s sentence) Unwrap() []error { return s }

// Hyper is what every architecture has: sizes, and the weights and states it declared.
type Hyper struct {
	Arch         string
	Vocab        int
	Dim          int // embedding length
	Layers       int // of the main stack
	Blocks       int // in the file: the main stack, then blocks for drafting
	TrainContext int
	Heads        int
	KVHeads      int
	HeadDim      int
	FF           int // feed-forward length; 0 where all layers are experts
	Eps          float32
	Rope         *graph.Rope

	Weights []*graph.Weight
	States  []*graph.State

	vocab  *graph.Cut
	unread map[string]bool // tensors that a file may hold and that nothing reads
}

// Common returns the shared part.
func (h *Hyper) Common() *Hyper { return h }

// Weight declares a tensor of that shape (fastest dimension first).
func (h *Hyper) Weight(name string, s graph.Split, shape ...int) *graph.Weight {
	w := &graph.Weight{Name: name, Split: s, ID: len(h.Weights)}
	for _, d := range shape {
		w.Shape = append(w.Shape, int64(d))
	}
	h.Weights = append(h.Weights, w)
	return w
}

// Optional declares a tensor that may be missing; tied, if not nil, stands in for it.
func (h *Hyper) Optional(tied *graph.Weight, name string, s graph.Split, shape ...int) *graph.Weight {
	w := h.Weight(name, s, shape...)
	w.Optional, w.Tied = true, tied
	return w
}

// KV declares a layer's cache of keys and values.
func (h *Hyper) KV(layer int) *graph.State {
	return h.state(&graph.State{Layer: layer, KVHeads: h.KVHeads, KVDim: h.HeadDim})
}

func (h *Hyper) state(s *graph.State) *graph.State {
	s.ID = len(h.States)
	h.States = append(h.States, s)
	return s
}

// vocabulary is the axis of the tokens, which the head has as outputs.
func (h *Hyper) vocabulary() *graph.Cut {
	if h.vocab == nil {
		h.vocab = &graph.Cut{Name: "vocabulary", Units: h.Vocab}
	}
	return h.vocab
}

// mayHold names a tensor that a file may hold and that nothing reads.
func (h *Hyper) mayHold(name string) {
	if h.unread == nil {
		h.unread = map[string]bool{}
	}
	h.unread[name] = true
}

// embeddings declares the token table, the final norm and the head, which may be tied to the table.
func (h *Hyper) embeddings() (embed, norm, head *graph.Weight) {
	embed = h.Weight("token_embd.weight", graph.Columns(h.vocabulary()), h.Dim, h.Vocab) // as a head; rows are looked up in all of it
	norm = h.Weight("output_norm.weight", graph.Split{}, h.Dim)
	head = h.Optional(embed, "output.weight", graph.Columns(h.vocabulary()), h.Dim, h.Vocab)
	return embed, norm, head
}
