package token

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Byte-level BPE writes each byte as a printable character, so that vocabularies are lists of text: printable
// Latin-1 as itself, the other 68 bytes as U+0100 and up (GPT-2, encoder.py).
var (
	byteRune [256]rune
	byteOf   [256 + 68]int16 // -1: no byte
)

func init() {
	for i := range byteOf {
		byteOf[i] = -1
	}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if b < '!' || b > '~' && b < '¡' || b == 0xAD {
			r = next
			next++
		}
		byteRune[b] = r
		byteOf[r] = int16(b)
	}
}

// bpe merges the bytes of each word, or its characters where the vocabulary is plain, in the order of the file's merge
// list. Symbols are token ids; merges may name texts that are no tokens, which get ids after the vocabulary's.
type bpe struct {
	pre     *preTokenizer
	split   []splitter
	index   *index
	types   []Type
	longest int               // bytes of the longest token's text
	covers  bool              // each byte becomes a part of some token
	bytes   [256]int32        // of a plain vocabulary: the tokens <0xAB>, or none
	extra   map[string]int32  // texts that are no tokens
	merges  map[uint64]uint64 // left id, right id: rank, merged id
	tokens  int32             // ids from here on are no tokens
	parts   [][]int32         // what such an id is written as: the tokens of its bytes
	scratch sync.Pool         // *bpeWork
}

const noMerge = math.MaxUint64

func pair(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

func newBPE(v *Vocab, merges []string, pre *preTokenizer) *bpe {
	b := &bpe{pre: pre, split: pre.splitters(), index: v.index(), types: v.types, tokens: int32(len(v.texts))}
	for _, t := range v.texts {
		b.longest = max(b.longest, len(t))
	}
	extra := map[string]int32{}
	b.extra = extra
	symbol := func(text string) int32 {
		if id, ok := b.index.get(text); ok {
			return id
		}
		id, ok := extra[text]
		if !ok {
			id = b.tokens + int32(len(extra))
			extra[strings.Clone(text)] = id
		}
		return id
	}
	for i, r := range byteRune {
		if pre.plain {
			b.bytes[i] = none
			if id, ok := b.index.get(fmt.Sprintf("<0x%02X>", i)); ok {
				b.bytes[i] = id
			}
		} else {
			b.bytes[i] = symbol(string(r))
		}
	}
	b.merges = make(map[uint64]uint64, len(merges))
	var buf []byte
	next := 0 // the token that the next merge makes, where the file lists them in order
	for rank, m := range merges {
		if len(m) < 3 {
			continue
		}
		// The left part has a character at least, which may be a space in vocabularies that are not byte-level.
		cut := strings.IndexByte(m[1:], ' ') + 1
		if cut == 0 || cut == len(m)-1 {
			continue
		}
		left, right := m[:cut], m[cut+1:]
		key := pair(symbol(left), symbol(right))
		if _, ok := b.merges[key]; ok {
			continue
		}
		made := int32(next)
		if t := v.Text(made); len(t) != len(m)-1 || t[:cut] != left || t[cut:] != right {
			buf = append(append(buf[:0], left...), right...)
			var ok bool
			if made, ok = b.index.getBytes(buf); !ok {
				made = symbol(string(buf))
			}
		}
		next = int(made) + 1
		b.merges[key] = uint64(rank)<<32 | uint64(uint32(made))
	}
	b.covers = !slices.ContainsFunc(b.bytes[:], func(id int32) bool { return id == none || id >= b.tokens })
	b.parts = make([][]int32, len(extra))
	for text, id := range extra {
		if pre.plain {
			b.parts[id-b.tokens] = b.appendBytes(nil, text)
			continue
		}
		for _, r := range text {
			if t, ok := b.index.get(string(r)); ok {
				b.parts[id-b.tokens] = append(b.parts[id-b.tokens], t)
			}
		}
	}
	b.scratch.New = func() any { return &bpeWork{bpe: b} }
	return b
}

// bpeWork is what one call of encode writes to.
type bpeWork struct {
	*bpe
	limit      *limit
	ends, next []int32
	text       []byte
	ids        []int32
	pairs      []uint64
	syms       []symbol
	q          queue
}

func (b *bpe) encode(dst []int32, text string, _ bool, l *limit) []int32 {
	if b.covers && l.over(len(dst)+len(text)/max(b.longest, 1)) {
		return dst
	}
	// Bytes that are not UTF-8 are read as U+FFFD each, so that patterns see characters.
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	w := b.scratch.Get().(*bpeWork)
	defer func() {
		w.limit = nil
		if len(text) <= keptText {
			b.scratch.Put(w)
		}
	}()
	w.limit = l
	if b.pre.plain {
		text = strings.ReplaceAll(text, " ", wordStart)
	}
	w.ends, w.next = splitWords(text, b.split, w.ends, w.next, l)
	start := int32(0)
	for _, end := range w.ends {
		if l.over(len(dst)) {
			break
		}
		dst = w.encodeWord(dst, text[start:end])
		start = end
	}
	return dst
}

// shortWord is the length in bytes up to which a plain search for the best pair beats a heap.
const shortWord = 48

func (w *bpeWork) encodeWord(dst []int32, word string) []int32 {
	if w.pre.plain {
		return w.mergePlain(dst, word)
	}
	if w.pre.ignoreMerges && len(word) <= w.longest {
		w.text = w.text[:0]
		for _, b := range []byte(word) {
			w.text = utf8.AppendRune(w.text, byteRune[b])
		}
		if id, ok := w.index.getBytes(w.text); ok && w.types[id] != Control {
			return append(dst, id)
		}
	}
	if len(word) > shortWord {
		return w.mergeLong(dst, word)
	}
	return w.mergeShort(dst, word)
}

func (w *bpeWork) mergeShort(dst []int32, word string) []int32 {
	ids, pairs := w.ids[:0], w.pairs[:0]
	for _, b := range []byte(word) {
		ids = append(ids, w.bytes[b])
	}
	for i := range len(ids) - 1 {
		pairs = append(pairs, w.merge(ids[i], ids[i+1]))
	}
	w.ids, w.pairs = ids, pairs
	for {
		best, at := uint64(noMerge), 0
		for i, m := range pairs {
			// Ranks are unique to a pair, so that equal values are the same merge and the leftmost goes first.
			if m < best {
				best, at = m, i
			}
		}
		if best == noMerge {
			break
		}
		ids[at] = int32(uint32(best))
		ids = append(ids[:at+1], ids[at+2:]...)
		pairs = append(pairs[:at], pairs[at+1:]...)
		if at > 0 {
			pairs[at-1] = w.merge(ids[at-1], ids[at])
		}
		if at < len(pairs) {
			pairs[at] = w.merge(ids[at], ids[at+1])
		}
	}
	for _, id := range ids {
		dst = w.append(dst, id)
	}
	return dst
}

func (w *bpeWork) mergeLong(dst []int32, word string) []int32 {
	w.syms = withRoom(w.syms, len(word))
	for i, b := range []byte(word) {
		i := int32(i)
		w.syms = append(w.syms, symbol{start: i, end: i + 1, prev: i - 1, next: i + 1, id: w.bytes[b]})
	}
	w.syms[len(word)-1].next = -1
	if mergeAll(w.syms, &w.q, w, w.limit); w.limit.err != nil {
		return dst
	}
	for i := int32(0); i >= 0; i = w.syms[i].next {
		dst = w.append(dst, w.syms[i].id)
	}
	return dst
}

// mergePlain merges the characters of a word of a plain vocabulary.
func (w *bpeWork) mergePlain(dst []int32, word string) []int32 {
	if word[0] == '\n' && len(word) <= w.longest {
		if id, ok := w.index.get(word); ok {
			return append(dst, id)
		}
	}
	w.syms = withRoom(w.syms, utf8.RuneCountInString(word))
	for i, r := range word {
		k, text := int32(len(w.syms)), word[i:i+utf8.RuneLen(r)]
		id, ok := w.index.get(text)
		if !ok {
			if id, ok = w.extra[text]; !ok {
				id = none // which no merge names
			}
		}
		w.syms = append(w.syms, symbol{start: int32(i), end: int32(i + len(text)), prev: k - 1, next: k + 1, id: id})
	}
	w.syms[len(w.syms)-1].next = -1
	if mergeAll(w.syms, &w.q, w, w.limit); w.limit.err != nil {
		return dst
	}
	for i := int32(0); i >= 0; i = w.syms[i].next {
		if s := &w.syms[i]; s.id == none {
			dst = w.appendBytes(dst, word[s.start:s.end])
		} else {
			dst = w.append(dst, s.id)
		}
	}
	return dst
}

// appendBytes writes a text as the tokens of its bytes.
func (b *bpe) appendBytes(dst []int32, text string) []int32 {
	for _, c := range []byte(text) {
		if id := b.bytes[c]; id != none {
			dst = append(dst, id)
		}
	}
	return dst
}

// join orders by the place in the merge list.
func (w *bpeWork) join(l, r *symbol) (uint32, int32, bool) {
	m := w.merge(l.id, r.id)
	return uint32(m >> 32), int32(uint32(m)), m != noMerge
}

func (b *bpe) merge(left, right int32) uint64 {
	if m, ok := b.merges[pair(left, right)]; ok {
		return m
	}
	return noMerge
}

func (b *bpe) append(dst []int32, id int32) []int32 {
	if id < b.tokens {
		return append(dst, id)
	}
	return append(dst, b.parts[id-b.tokens]...)
}
