package token

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ingot/engine/gguf"
)

// Meta is what New reads of a file's metadata. A missing key is an error that is gguf.ErrNoKey. The slices it
// returns are kept, not copied.
type Meta interface {
	String(key string) (string, error)
	Uint(key string) (uint64, error)
	Int(key string) (int64, error)
	Bool(key string) (bool, error)
	Strings(key string) ([]string, error)
	Ints(key string) ([]int64, error)
	Floats(key string) ([]float64, error)
}

// ErrUnsupported is returned when a file's tokenizer model or pre-tokenizer is not one that Ingot knows.
var ErrUnsupported = errors.New("not supported")

// Limits of a vocabulary. The largest published ones have some 260 thousand tokens and 440 thousand merges.
const (
	maxTokens = 1 << 22
	maxMerges = 1 << 23
)

const (
	keyModel  = "tokenizer.ggml.model"
	keyPre    = "tokenizer.ggml.pre"
	keyTokens = "tokenizer.ggml.tokens"
	keyTypes  = "tokenizer.ggml.token_type"
	keyScores = "tokenizer.ggml.scores"
	keyMerges = "tokenizer.ggml.merges"
)

// New reads the vocabulary of a file.
func New(m Meta) (*Vocab, error) {
	v, err := load(m)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return v, nil
}

func load(m Meta) (*Vocab, error) {
	r := reader{m: m}
	v := &Vocab{bos: none, eos: none, eot: none, unk: none}
	v.model = r.string(keyModel, "")
	v.pre = r.string(keyPre, "")
	if r.err != nil {
		return nil, r.err
	}
	var enc func() encoder
	alwaysBOS := false
	switch v.model {
	case "no_vocab", "none":
		return v, loadEmpty(v, m)
	case "gpt2", "gemma4":
		if v.model == "gemma4" {
			v.pre = v.model
		}
		pre, err := preFor(v.pre)
		if err != nil {
			return nil, err
		}
		merges, err := m.Strings(keyMerges)
		if err != nil {
			return nil, err
		}
		if len(merges) > maxMerges {
			return nil, fmt.Errorf("%d merges, at most %d are read", len(merges), maxMerges)
		}
		v.addBOS, v.byteLevel, alwaysBOS = pre.addBOS, !pre.plain, pre.plain
		enc = func() encoder { return newBPE(v, merges, pre) }
	case "llama":
		v.bos, v.eos, v.unk = 1, 2, 0
		v.addBOS, v.addSpacePrefix = true, true
		enc = func() encoder { return newSPM(v) }
	case "bert":
		v.bos, v.unk = 101, 100
		v.addBOS = true
		lower := r.bool("tokenizer.ggml.normalizer.lowercase", true)
		strip := r.bool("tokenizer.ggml.normalizer.strip_accents", lower)
		enc = func() encoder { return newWordPiece(v, lower, strip) }
	case "":
		return nil, fmt.Errorf("%s is missing", keyModel)
	default:
		return nil, fmt.Errorf("%s %q is %w (gpt2, gemma4, llama, bert and no_vocab are)", keyModel, v.model, ErrUnsupported)
	}
	if err := loadTokens(v, m); err != nil {
		return nil, err
	}
	v.addBOS = r.bool("tokenizer.ggml.add_bos_token", v.addBOS) || alwaysBOS
	v.addEOS = r.bool("tokenizer.ggml.add_eos_token", v.addEOS)
	v.addSpacePrefix = r.bool("tokenizer.ggml.add_space_prefix", v.addSpacePrefix)
	for _, id := range optional(&r, m.Ints, "tokenizer.ggml.suppress_tokens", nil) {
		if id >= 0 && id < int64(len(v.texts)) {
			v.suppressed = append(v.suppressed, int32(id))
		}
	}
	loadSpecial(v, &r)
	v.lazy(enc)
	return v, r.err
}

// loadEmpty reads a vocabulary that has a size and no texts.
func loadEmpty(v *Vocab, m Meta) error {
	arch, err := m.String("general.architecture")
	if err != nil {
		return err
	}
	n, err := m.Uint(arch + ".vocab_size")
	if errors.Is(err, gguf.ErrNoKey) {
		return fmt.Errorf("%s %q needs %s.vocab_size", keyModel, v.model, arch)
	}
	if err != nil {
		return err
	}
	if n > maxTokens {
		return fmt.Errorf("%d tokens, at most %d are read", n, maxTokens)
	}
	v.types = slices.Repeat([]Type{Normal}, int(n))
	return nil
}

// loadTokens reads texts, types and scores.
func loadTokens(v *Vocab, m Meta) (err error) {
	if v.texts, err = m.Strings(keyTokens); err != nil {
		return err
	}
	n := len(v.texts)
	if n == 0 || n > maxTokens {
		return fmt.Errorf("%d tokens, expected 1 to %d", n, maxTokens)
	}
	types, err := m.Ints(keyTypes)
	switch {
	case errors.Is(err, gguf.ErrNoKey):
		v.types = slices.Repeat([]Type{Normal}, n)
	case err != nil:
		return err
	case len(types) < n:
		return fmt.Errorf("%s has %d values for %d tokens", keyTypes, len(types), n)
	default:
		v.types = make([]Type, n)
		for i := range v.types {
			v.types[i] = Unused
			if t := types[i]; t >= int64(Normal) && t <= int64(Byte) {
				v.types[i] = Type(t)
			}
		}
	}
	if v.model != "llama" {
		return nil
	}
	scores, err := m.Floats(keyScores)
	switch {
	case errors.Is(err, gguf.ErrNoKey):
		v.scores = make([]float32, n)
	case err != nil:
		return err
	case len(scores) < n:
		return fmt.Errorf("%s has %d values for %d tokens", keyScores, len(scores), n)
	default:
		v.scores = make([]float32, n)
		for i := range v.scores {
			v.scores[i] = float32(scores[i])
		}
	}
	return nil
}

// reader reads optional keys and keeps the first error.
type reader struct {
	m   Meta
	err error
}

func optional[T any](r *reader, get func(string) (T, error), key string, otherwise T) T {
	v, err := get(key)
	if err == nil {
		return v
	}
	if !errors.Is(err, gguf.ErrNoKey) && r.err == nil {
		r.err = err
	}
	return otherwise
}

func (r *reader) string(key, otherwise string) string {
	return optional(r, r.m.String, key, otherwise)
}

func (r *reader) bool(key string, otherwise bool) bool {
	return optional(r, r.m.Bool, key, otherwise)
}

// id reads a token id. One that is out of range, such as -1 for none, leaves the other value, if that is in range.
func (r *reader) id(name string, otherwise int32, n int) int32 {
	id := optional(r, r.m.Int, "tokenizer.ggml."+name+"_token_id", int64(otherwise))
	if id < 0 || id >= int64(n) {
		id = int64(otherwise)
	}
	if id < 0 || id >= int64(n) {
		return none
	}
	return int32(id)
}

// isPhi3 says whether control tokens swallow the white space after them: these models were trained so, and
// nothing but the name in the file tells.
func isPhi3(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "phi-3") || strings.Contains(name, "phi3")
}
