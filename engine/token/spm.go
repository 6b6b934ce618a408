package token

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// wordStart stands for a space in SentencePiece and WordPiece texts.
const wordStart = "▁"

// spm is SentencePiece BPE: of all neighbours whose joined text is a token, those with the best score merge
// first. A character that no token covers is written as byte tokens.
type spm struct {
	v       *Vocab
	index   *index
	longest int  // bytes of the longest token
	covers  bool // each byte becomes a part of some token
	bytes   [256]int32
	scratch sync.Pool // *spmWork
}

type spmWork struct {
	*spm
	text string
	syms []symbol
	q    queue
}

func newSPM(v *Vocab) *spm {
	s := &spm{v: v, index: v.index()}
	for _, t := range v.texts {
		s.longest = max(s.longest, len(t))
	}
	for b := range s.bytes {
		s.bytes[b] = v.unk
		if id, ok := s.index.get(string([]byte{byte(b)})); ok {
			s.bytes[b] = id
		}
	}
	for id, t := range v.texts {
		if b, ok := byteText(t); ok {
			s.bytes[b] = int32(id)
		}
	}
	s.covers = !slices.Contains(s.bytes[:], none)
	s.scratch.New = func() any { return &spmWork{spm: s} }
	return s
}

func (s *spm) encode(dst []int32, text string, start bool, l *limit) []int32 {
	if s.covers && l.over(len(dst)+len(text)/max(s.longest, 1)) {
		return dst
	}
	if start && s.v.addSpacePrefix {
		text = " " + text
	}
	w := s.scratch.Get().(*spmWork)
	defer func() {
		w.text = ""
		if len(text) <= keptText {
			s.scratch.Put(w)
		}
	}()
	w.text = strings.ReplaceAll(text, " ", wordStart)
	w.syms = withRoom(w.syms, utf8.RuneCountInString(w.text))
	for i := 0; i < len(w.text); {
		_, n := utf8.DecodeRuneInString(w.text[i:])
		k := int32(len(w.syms))
		w.syms = append(w.syms, symbol{start: int32(i), end: int32(i + n), prev: k - 1, next: k + 1})
		i += n
	}
	w.syms[len(w.syms)-1].next = -1
	if mergeAll(w.syms, &w.q, w, l); l.err != nil {
		return dst
	}
	for i := int32(0); i >= 0 && !l.ended(); i = w.syms[i].next {
		dst = w.appendIDs(dst, w.text[w.syms[i].start:w.syms[i].end])
	}
	return dst
}

// join orders by score, best first.
func (w *spmWork) join(l, r *symbol) (uint32, int32, bool) {
	if int(r.end-l.start) > w.longest {
		return 0, 0, false
	}
	id, ok := w.index.get(w.text[l.start:r.end])
	if !ok {
		return 0, 0, false
	}
	// The bits of a float, with the sign turned over, order as the float does.
	bits := math.Float32bits(w.v.scores[id])
	if bits>>31 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return ^bits, id, true
}

func (s *spm) appendIDs(dst []int32, text string) []int32 {
	if id, ok := s.index.get(text); ok {
		return append(dst, id)
	}
	for _, b := range []byte(text) {
		if id := s.bytes[b]; id != none {
			dst = append(dst, id)
		}
	}
	return dst
}
