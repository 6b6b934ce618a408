package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ingot/engine/arch"
	"ingot/engine/chat"
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/gguf"
	"ingot/engine/sched"
	"ingot/engine/tensor"
	"ingot/engine/token"
)

// Engine is one loaded model.
type Engine struct {
	file     *gguf.File
	unwatch  func() // of file
	vocab    *token.Vocab
	template *chat.Template // nil without one
	model    *arch.Hyper
	cards    []device.Card // a lane's, in the order of Runner.Memory
	run      *exec.Runner
	sched    *sched.Scheduler
	places   []place // of the cards
	info     Info
	long     chan struct{} // holds whoever encodes a long text
}

// Open loads a model. The error says in one sentence what is wrong with the file or what does not fit.
func Open(path string, o Options) (_ *Engine, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	mode, _, _ := loadMode(o.Load) // checked above
	f, err := gguf.OpenAs(path, mode)
	if err != nil {
		return nil, err
	}
	e := &Engine{file: f, unwatch: watchFile(f), long: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			e.unwatch()
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
	go e.vocab.Warm()
	if err := e.loadTemplate(); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if err := e.start(model, weights, o); errors.Is(err, ErrBadRequest) {
		return nil, err // the options' fault, not the file's
	} else if errors.Is(err, gguf.ErrTruncated) {
		return nil, err // names the file, which was cut since it was opened
	} else if err != nil {
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

// loadTemplate compiles the file's chat template, and the one for tools where it has two.
func (e *Engine) loadTemplate() error {
	bos, eos := "", ""
	if id, ok := e.vocab.BOS(); ok {
		bos = e.vocab.Text(id)
	}
	if id, ok := e.vocab.EOS(); ok {
		eos = e.vocab.Text(id)
	}
	source, err := e.templateSource("tokenizer.chat_template")
	if err != nil || source == "" {
		return err
	}
	if e.template, err = chat.New(source, bos, eos); err != nil {
		return err
	}
	source, err = e.templateSource("tokenizer.chat_template.tool_use")
	if err != nil || source == "" {
		return err
	}
	e.template, err = e.template.WithTools(source)
	return err
}

// templateSource is "" where the file has none.
func (e *Engine) templateSource(key string) (string, error) {
	source, err := e.file.Meta().String(key)
	if errors.Is(err, gguf.ErrNoKey) {
		return "", nil
	}
	return source, err
}
