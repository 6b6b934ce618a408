package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"ingot/engine/chat/jinja"
	"ingot/engine/gguf"
	"ingot/engine/token"
)

// Vocab is a tokenizer.
type Vocab = token.Vocab

// OpenVocab reads the tokenizer of a model or vocabulary-only file.
func OpenVocab(path string) (*Vocab, error) {
	f, err := gguf.OpenHeader(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := token.New(f.Meta())
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

// RenderTemplate renders a template with the variables of a JSON object, whose key order is kept.
func RenderTemplate(source string, variables json.RawMessage) (string, error) {
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
	return t.Render(o, jinja.Limits{})
}
