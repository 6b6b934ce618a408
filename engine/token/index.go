package token

import "hash/maphash"

// index finds tokens by their text. It is an open-addressing table of 8 bytes a slot: a fraction of a Go map's
// memory, and a vocabulary of a quarter million texts is indexed in less than half the time.
type index struct {
	texts []string
	seed  maphash.Seed
	slots []uint64 // hash above, id+1 below; 0: free
	shift uint     // the slot of a hash is its upper bits
}

// newIndex indexes texts; of equal ones the last is found. Empty texts are left out.
func newIndex(texts []string) *index {
	bits := uint(4)
	for 1<<bits < 2*len(texts) {
		bits++
	}
	x := &index{texts: texts, seed: maphash.MakeSeed(), slots: make([]uint64, 1<<bits), shift: 64 - bits}
	for id, t := range texts {
		if t == "" {
			continue
		}
		h := maphash.String(x.seed, t)
		i, _ := x.probe(h, t)
		x.slots[i] = h&^(1<<32-1) | uint64(id+1)
	}
	return x
}

// get returns the id of a text.
func (x *index) get(text string) (int32, bool) {
	_, id := x.probe(maphash.String(x.seed, text), text)
	return id, id != none
}

// getBytes is get of a text that is still being written.
func (x *index) getBytes(text []byte) (int32, bool) {
	h := maphash.Bytes(x.seed, text)
	for i := h >> x.shift; ; i = (i + 1) & uint64(len(x.slots)-1) {
		s := x.slots[i]
		if s == 0 {
			return none, false
		}
		if id := uint32(s) - 1; s>>32 == h>>32 && x.texts[id] == string(text) {
			return int32(id), true
		}
	}
}

// probe returns the slot of a text and its id, or the free slot where it belongs and none. Half of the slots are
// free, so it ends.
func (x *index) probe(h uint64, text string) (slot uint64, id int32) {
	for i := h >> x.shift; ; i = (i + 1) & uint64(len(x.slots)-1) {
		s := x.slots[i]
		if s == 0 {
			return i, none
		}
		if id := uint32(s) - 1; s>>32 == h>>32 && x.texts[id] == text {
			return i, int32(id)
		}
	}
}
