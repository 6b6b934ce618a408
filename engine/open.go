package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ingot/engine/arch"
	"ingot/engine/cache"
	"ingot/engine/chat"
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/gguf"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/sched"
	"ingot/engine/tensor"
	"ingot/engine/token"
)

const (
	defaultContext   = 4096
	defaultUBatch    = 512
	defaultSlots     = 1
	defaultSnapshots = 256 << 20
	maxPlanes        = 256
	maxOuts          = 64 // wanted rows of a batch; their logits are vocab floats each
)

// Engine is one loaded model.
type Engine struct {
	file     *gguf.File
	vocab    *token.Vocab
	template *chat.Template // nil without one
	model    *arch.Hyper
	card     device.Card
	run      *exec.Runner
	sched    *sched.Scheduler
	info     Info
}

// Open loads a model. The error says in one sentence what is wrong with the file or what does not fit.
func Open(path string, o Options) (_ *Engine, err error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	e := &Engine{file: f}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	model, weights, err := bind(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	e.model = model.Common()
	if e.vocab, err = token.New(f.Meta()); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if err := e.loadTemplate(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if err := e.start(model, weights, o); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	e.describe(path)
	if o.Progress != nil {
		o.Progress(1)
	}
	return e, nil
}

// bind reads the architecture and checks every tensor it needs.
func bind(f *gguf.File) (arch.Model, []device.Weight, error) {
	model, err := arch.New(f.Meta(), vocabSize(f))
	if err != nil {
		return nil, nil, err
	}
	if len(f.Tensors()) == 0 {
		return nil, nil, errors.New("the file holds a vocabulary and no weights")
	}
	h := model.Common()
	err = h.Bind(func(yield func(string, []int64) bool) {
		for _, t := range f.Tensors() {
			if !yield(t.Name, t.Shape) {
				return
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	weights := make([]device.Weight, len(h.Weights))
	var unread []string
	for _, w := range h.Weights {
		if w.Absent {
			continue
		}
		t, _ := f.Tensor(w.Name)
		if !t.Type.Readable() {
			unread = append(unread, fmt.Sprintf("%s is %v", t.Name, t.Type))
		}
		weights[w.ID] = device.Weight{Type: t.Type, Data: t.Data}
	}
	if len(unread) > 0 {
		return nil, nil, fmt.Errorf("quantization not supported yet: %s (%d tensors); Ingot reads %s", unread[0], len(unread), typeNames())
	}
	return model, weights, nil
}

func typeNames() string {
	var names []string
	for _, t := range tensor.Readables() {
		names = append(names, t.String())
	}
	return strings.Join(names, " ")
}

// vocabSize is the number of tokens: of the list, else what the architecture says, else what the table holds.
func vocabSize(f *gguf.File) int {
	if list, err := f.Meta().Strings("tokenizer.ggml.tokens"); err == nil {
		return len(list)
	}
	if name, err := f.Meta().String("general.architecture"); err == nil {
		if n, err := f.Meta().Int(name + ".vocab_size"); err == nil && n > 0 && n < 1<<31 {
			return int(n)
		}
	}
	if t, ok := f.Tensor("token_embd.weight"); ok && len(t.Shape) == 2 {
		return int(t.Shape[1])
	}
	return 0
}

func (e *Engine) loadTemplate() error {
	source, err := e.file.Meta().String("tokenizer.chat_template")
	if errors.Is(err, gguf.ErrNoKey) {
		return nil
	}
	if err != nil {
		return err
	}
	bos, eos := "", ""
	if id, ok := e.vocab.BOS(); ok {
		bos = e.vocab.Text(id)
	}
	if id, ok := e.vocab.EOS(); ok {
		eos = e.vocab.Text(id)
	}
	e.template, err = chat.New(source, bos, eos)
	return err
}

// start plans the model for the card, loads the lane and starts the scheduler.
func (e *Engine) start(model arch.Model, weights []device.Weight, o Options) error {
	h := e.model
	level := o.Level
	if level == "" {
		level = os.Getenv("INGOT_CPU")
	}
	if len(o.Cards) > 1 || o.TPS > 1 {
		return fmt.Errorf("%w: this build runs a model on the CPU as one lane", ErrBadRequest)
	}
	card, err := device.NewCPU(o.Threads, level)
	if err != nil {
		return err
	}
	slots, rows := or(o.Slots, defaultSlots), or(o.UBatch, defaultUBatch)
	cells := o.Context
	if cells <= 0 {
		cells = min(h.TrainContext, defaultContext)
	}
	rows = min(rows, cells)

	b := graph.NewBuilder()
	model.Forward(b)
	outs := min(max(slots, maxOuts), max(slots, rows))
	p, err := plan.Make(b.Graph(), func(w *graph.Weight) tensor.Type { return weights[w.ID].Type },
		plan.Options{Rows: max(rows, slots), Outs: outs, QuantRow: card.QuantRow})
	if err != nil {
		return err
	}
	planes := planesFor(h.States, slots, or(o.Snapshots, defaultSnapshots))
	lane, err := card.Load(device.Spec{Plan: p, Weights: weights, States: h.States, Slots: slots, Cells: cells, Planes: planes, KV: tensor.F16})
	if err != nil {
		return err
	}
	e.card = card
	e.run = exec.New(lane)
	e.sched = sched.New(e.run, cache.New(slots, cells, planes), sched.Options{Rows: max(rows, slots), Outs: outs})
	ci := card.Info()
	e.info.Context, e.info.Slots, e.info.Threads, e.info.Level = cells, slots, ci.Threads, ci.Level
	return nil
}

// planesFor is how many recurrent states there is memory for: two a slot, and snapshots within the budget.
func planesFor(states []*graph.State, slots int, budget int64) int {
	var plane int64
	for _, s := range states {
		plane += device.PlaneBytes(s)
	}
	if plane == 0 {
		return 0
	}
	return 2*slots + int(min(max(budget/plane, 2), maxPlanes))
}

func or[T int | int64](v, zero T) T {
	if v > 0 {
		return v
	}
	return zero
}

// Close ends all work and frees the model. Answers under way end with ErrClosed.
func (e *Engine) Close() error {
	e.sched.Close()
	return e.file.Close()
}
