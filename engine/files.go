package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ingot/engine/chat/jinja"
	"ingot/engine/gguf"
	"ingot/engine/token"
)

// Vocab is a tokenizer.
type Vocab = token.Vocab

// OpenVocab reads the tokenizer of a model or vocabulary-only file. A file without one is an ErrNoVocabulary.
func OpenVocab(path string) (*Vocab, error) {
	f, err := gguf.OpenHeader(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := token.New(f.Meta())
	if err == nil && !v.HasTexts() {
		err = ErrNoVocabulary
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// ModelTemplate reads the chat template that a file carries.
func ModelTemplate(path string) (string, error) {
	f, err := gguf.OpenHeader(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	s, err := f.Meta().String("tokenizer.chat_template")
	if errors.Is(err, gguf.ErrNoKey) {
		return "", fmt.Errorf("%s: %w", path, ErrNoTemplate)
	}
	return s, err
}

// Contents is all that a file's header lists.
type Contents struct {
	Metadata []KeyValue   // in the order of the file
	Tensors  []TensorInfo // likewise
}

// KeyValue is one entry of the metadata. Value is a bool, a string, a sized integer, a float or a slice of one of these.
type KeyValue struct {
	Key   string
	Value any
}

// TensorInfo is one entry of the tensor table.
type TensorInfo struct {
	Name  string
	Type  string
	Shape []int64 // fastest dimension first
	Bytes int64   // packed
}

// ReadContents lists a file's metadata and tensors, whether the engine can run it or not.
func ReadContents(path string) (*Contents, error) {
	f, err := gguf.OpenHeader(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &Contents{}
	for _, key := range f.Meta().Keys() {
		v, _ := f.Meta().Value(key)
		c.Metadata = append(c.Metadata, KeyValue{key, v})
	}
	for _, t := range f.Tensors() {
		c.Tensors = append(c.Tensors, TensorInfo{t.Name, t.Type.String(), t.Shape, t.Bytes()})
	}
	return c, nil
}

// RenderTemplate renders a template with the variables of a JSON object, whose key order is kept. now is the clock
// that the template may ask; nil: the system's.
func RenderTemplate(source string, variables json.RawMessage, now func() time.Time) (string, error) {
	t, err := jinja.Compile(source)
	if err != nil {
		return "", err
	}
	v, err := jinja.FromJSON(variables)
	if err != nil {
		return "", fmt.Errorf("context: %w", err)
	}
	o, ok := v.(*jinja.Object)
	if !ok {
		return "", errors.New("context: expected a JSON object")
	}
	return t.Render(o, jinja.Limits{Now: now})
}
