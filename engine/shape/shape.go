// Package shape reads a model's shape: a small JSON file with the hyper-parameters and the types of the tensors of a model that is
// not here, so that it can be planned before it is downloaded.
//
//	{
//	  "name": "Qwen3-14B Q4_K_M",
//	  "metadata": {"general.architecture": "qwen3", "qwen3.block_count": 40, "qwen3.rope.freq_base": 1e6},
//	  "vocabulary": 151936,
//	  "mix": "Q4_K_M",
//	  "optional": ["output.weight"],
//	  "types": [{"tensors": "attn_v", "type": "Q8_0"}]
//	}
//
// metadata is what a GGUF file of the model would say; a number with a point or an exponent is a float. mix names a choice of types
// as `ingot quantize` has them. optional lists patterns (regular expressions) of tensors that models of the architecture may
// lack and this one has; types gives other types to the tensors whose names match, the first that fits.
package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ingot/engine/arch"
	"ingot/engine/gguf"
	"ingot/engine/quant"
	"ingot/engine/tensor"
)

// ErrShape is returned when a shape file cannot be read.
var ErrShape = errors.New("bad shape file")

// MaxFile bounds a shape file, in bytes.
const MaxFile = 1 << 20

type file struct {
	Name       string                     `json:"name"`
	Metadata   map[string]json.RawMessage `json:"metadata"`
	Vocabulary int                        `json:"vocabulary"`
	Mix        string                     `json:"mix"`
	Optional   []string                   `json:"optional"`
	Types      []struct {
		Tensors string `json:"tensors"`
		Type    string `json:"type"`
	} `json:"types"`
}

// Read returns the described model as a GGUF file without data. path is what errors call it.
func Read(path string, b []byte) (*gguf.File, error) {
	f, err := read(path, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrShape, err)
	}
	return f, nil
}

func read(path string, b []byte) (*gguf.File, error) {
	if len(b) > MaxFile {
		return nil, fmt.Errorf("%d bytes, the limit is %d", len(b), MaxFile)
	}
	var s file
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	meta := gguf.NewMeta()
	if s.Name != "" {
		meta.Set("general.name", s.Name)
	}
	for key, raw := range s.Metadata {
		v, err := value(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		meta.Set(key, v)
	}
	model, err := arch.New(meta, s.Vocabulary)
	if err != nil {
		return nil, err
	}
	meta.Set(model.Common().Arch+".vocab_size", int64(s.Vocabulary))
	optional, err := patterns(s.Optional)
	if err != nil {
		return nil, err
	}
	var tensors []gguf.Tensor
	for _, w := range model.Common().Weights {
		has := !w.Optional
		for _, p := range optional {
			has = has || p.MatchString(w.Name)
		}
		if has {
			tensors = append(tensors, gguf.Tensor{Name: w.Name, Type: tensor.F32, Shape: w.Shape})
		}
	}
	plain, err := gguf.Described(path, meta, tensors)
	if err != nil {
		return nil, err
	}
	return s.quantized(path, plain)
}

// quantized gives the tensors the types of the mix.
func (s *file) quantized(path string, f *gguf.File) (*gguf.File, error) {
	if s.Mix == "" {
		return nil, errors.New("mix is missing")
	}
	mix, err := quant.ParseMix(s.Mix)
	if err != nil {
		return nil, err
	}
	o := quant.Options{Mix: mix}
	for _, t := range s.Types {
		p, err := regexp.Compile(t.Tensors)
		if err != nil {
			return nil, err
		}
		to, err := tensor.Parse(t.Type)
		if err != nil {
			return nil, err
		}
		o.Overrides = append(o.Overrides, quant.Override{Pattern: p, Type: to})
	}
	steps, err := quant.Choose(f, &o)
	if err != nil {
		return nil, err
	}
	var tensors []gguf.Tensor
	for _, st := range steps {
		tensors = append(tensors, gguf.Tensor{Name: st.Tensor.Name, Type: st.To, Shape: st.Tensor.Shape})
	}
	meta := f.Meta()
	meta.Set("general.file_type", mix.FileType)
	return gguf.Described(path, meta, tensors)
}

func patterns(list []string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for _, text := range list {
		p, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// value is a JSON value as metadata has it.
func value(raw json.RawMessage) (any, error) {
	text := string(bytes.TrimSpace(raw))
	whole := !strings.ContainsAny(text, ".eE")
	var err error
	switch {
	case text == "true" || text == "false":
		return text == "true", nil
	case strings.HasPrefix(text, `"`):
		var s string
		err = json.Unmarshal(raw, &s)
		return s, err
	case strings.HasPrefix(text, "[") && strings.Contains(text, `"`):
		var list []string
		err = json.Unmarshal(raw, &list)
		return list, err
	case strings.HasPrefix(text, "[") && strings.ContainsAny(text, "tf"):
		var list []bool
		err = json.Unmarshal(raw, &list)
		return list, err
	case strings.HasPrefix(text, "[") && whole:
		var list []int64
		err = json.Unmarshal(raw, &list)
		return list, err
	case strings.HasPrefix(text, "["):
		var list []float64
		err = json.Unmarshal(raw, &list)
		return list, err
	case whole:
		var n int64
		err = json.Unmarshal(raw, &n)
		return n, err
	}
	var f float64
	err = json.Unmarshal(raw, &f)
	return f, err
}
