// Package token turns text into token ids and back, by the vocabulary that a GGUF file carries.
//
// Three kinds of tokenizer are read: byte-level BPE (tokenizer.ggml.model "gpt2", and "gemma4", whose alphabet is
// SentencePiece's), SentencePiece BPE ("llama") and WordPiece ("bert"); "no_vocab" files have ids without texts. Encoding runs in three steps: control and
// user-defined tokens are cut out of the text (match.go), what lies between is split into words where the model
// asks for it (pre.go), and words become ids (bpe.go, spm.go, wordpiece.go).
package token

import (
	"context"
	"slices"
	"sync"
)

// Type says what a token is for; the values are GGUF's.
type Type uint8

// Token types. A type that GGUF does not name is read as Unused.
const (
	Normal      Type = 1
	Unknown     Type = 2 // stands for what the vocabulary cannot write
	Control     Type = 3 // never produced by plain text, not part of an answer
	UserDefined Type = 4 // matched in any text before anything else
	Unused      Type = 5
	Byte        Type = 6 // one byte, written <0xAB>
)

// none is the id of a token that a vocabulary does not have.
const none int32 = -1

// Vocab is a vocabulary and its tokenizer. It does not change after New and may be used from many goroutines.
type Vocab struct {
	model     string
	pre       string
	byteLevel bool // texts are bytes written as byteRune says

	texts  []string // as in the file
	types  []Type
	scores []float32 // llama only

	bos, eos, eot, unk             int32
	addBOS, addEOS, addSpacePrefix bool
	eog                            []int32 // sorted
	stripAfter                     []int32 // control tokens that swallow the white space after them; sorted
	suppressed                     []int32

	// What only encoding needs is built when it is first asked for.
	index   func() *index
	special func() *matcher // control, unknown and user-defined tokens
	user    func() *matcher // user-defined tokens
	encoder func() encoder
}

// encoder turns text without special tokens in it into ids, or a part of it where the limit is reached. start is true
// at the beginning of a text and after a special token.
type encoder interface {
	encode(dst []int32, text string, start bool, l *limit) []int32
}

// Model returns tokenizer.ggml.model.
func (v *Vocab) Model() string { return v.model }

// Pre returns tokenizer.ggml.pre, or "".
func (v *Vocab) Pre() string { return v.pre }

// Len returns the number of tokens.
func (v *Vocab) Len() int { return len(v.types) }

// HasTexts says whether tokens have texts, so that there is something to encode and decode.
func (v *Vocab) HasTexts() bool { return len(v.texts) > 0 }

// Text returns a token's text as the file writes it, or "" for an id that does not exist.
func (v *Vocab) Text(id int32) string {
	if id < 0 || int(id) >= len(v.texts) {
		return ""
	}
	return v.texts[id]
}

// Type returns a token's type; tokens that end a turn are Control whatever the file says. An id that does not
// exist is Unused.
func (v *Vocab) Type(id int32) Type {
	if id < 0 || int(id) >= len(v.types) {
		return Unused
	}
	return v.types[id]
}

// IsControl says whether a token is a control token.
func (v *Vocab) IsControl(id int32) bool { return v.Type(id) == Control }

// Lookup returns the token whose text in the file is text.
func (v *Vocab) Lookup(text string) (int32, bool) {
	if len(v.texts) == 0 {
		return none, false
	}
	return v.index().get(text)
}

// BOS returns the token that begins a text.
func (v *Vocab) BOS() (int32, bool) { return v.bos, v.bos != none }

// EOS returns the token that ends a text.
func (v *Vocab) EOS() (int32, bool) { return v.eos, v.eos != none }

// EOT returns the token that ends a turn.
func (v *Vocab) EOT() (int32, bool) { return v.eot, v.eot != none }

// AddBOS says whether a prompt begins with BOS.
func (v *Vocab) AddBOS() bool { return v.addBOS && v.bos != none }

// AddEOS says whether a text that is read, not continued, ends with EOS.
func (v *Vocab) AddEOS() bool { return v.addEOS && v.eos != none }

// AddSpacePrefix says whether Encode puts a space before a text.
func (v *Vocab) AddSpacePrefix() bool { return v.addSpacePrefix }

// IsEOG says whether a token ends an answer: EOS, EOT, EOM and the texts known to do so.
func (v *Vocab) IsEOG(id int32) bool {
	_, ok := slices.BinarySearch(v.eog, id)
	return ok
}

// Suppressed returns tokens that the file says must never be answered, such as the places of pictures. It must not be changed.
func (v *Vocab) Suppressed() []int32 { return v.suppressed }

// Warm builds what Encode needs. Encode does so on its first call; a program that has other things to load
// meanwhile calls Warm from a goroutine.
func (v *Vocab) Warm() {
	if v.texts == nil {
		return
	}
	v.special()
	v.encoder()
}

// Encode returns the ids of text, without BOS and EOS. User-defined tokens are matched in any text; control
// tokens written in it are matched when special is true, and are plain text otherwise. A vocabulary without texts
// gives no ids.
func (v *Vocab) Encode(text string, special bool) []int32 {
	return v.encode(text, special, unlimited())
}

// EncodeWithin is Encode of a text from outside: it returns ErrMany, as soon as that is known, where there are more
// than most tokens, and the context's error soon after it has ended.
func (v *Vocab) EncodeWithin(ctx context.Context, text string, special bool, most int) ([]int32, error) {
	l := &limit{ctx: ctx, most: most}
	ids := v.encode(text, special, l)
	if l.over(len(ids)); l.err == nil {
		l.err = ctx.Err()
	}
	if l.err != nil {
		return nil, l.err
	}
	return ids, nil
}

// stretch is how many bytes are encoded at once: so many that nobody meets the end of one, so few that places in it
// are int32, even if each byte becomes three.
const stretch = 1 << 29

func (v *Vocab) encode(text string, special bool, l *limit) []int32 {
	if text == "" || v.texts == nil {
		return nil
	}
	m := v.user()
	if special {
		m = v.special()
	}
	enc := v.encoder()
	out := make([]int32, 0, min(len(text)/4, l.most)+1)
	start := true
	for text != "" && !l.over(len(out)) {
		at, n, id := m.find(text)
		for plain := text[:at]; plain != ""; {
			part := plain[:min(len(plain), stretch)]
			out = enc.encode(out, part, start, l)
			start = false
			plain = plain[len(part):]
		}
		if n == 0 {
			break
		}
		out = append(out, id)
		text = text[at+n:]
		start = true
		if _, ok := slices.BinarySearch(v.stripAfter, id); ok {
			text = trimSpace(text)
		}
	}
	return out
}

// lazy sets up what is built on first use.
func (v *Vocab) lazy(enc func() encoder) {
	v.index = sync.OnceValue(func() *index { return newIndex(v.texts) })
	v.special = sync.OnceValue(func() *matcher { return v.matcher(Control, Unknown, UserDefined) })
	v.user = sync.OnceValue(func() *matcher { return v.matcher(UserDefined) })
	v.encoder = sync.OnceValue(enc)
}

func (v *Vocab) matcher(types ...Type) *matcher {
	var ids []int32
	for id, t := range v.types {
		if slices.Contains(types, t) {
			ids = append(ids, int32(id))
		}
	}
	return newMatcher(v.texts, ids)
}
