package token

// symbol is a stretch of a word while pairs are being merged. There is one for every byte of a word, so it is small.
type symbol struct {
	start, end int32 // bytes of the word
	prev, next int32 // neighbours; -1: none
	id         int32
}

// keptText is the length in bytes of a text up to which what was written to is kept for the next.
const keptText = 1 << 20

// joiner says whether two neighbours can be merged: lower orders go first, equal ones from left to right.
type joiner interface {
	join(left, right *symbol) (order uint32, id int32, ok bool)
}

// mergeAll merges pairs of symbols until no pair can be merged, in O(n log n). Symbols are linked by prev and
// next and stay in place: a merged pair lives on in its left symbol; the first one is never absorbed. It ends early
// where l says so.
func mergeAll(syms []symbol, q *queue, j joiner, l *limit) {
	q.heap = withRoom(q.heap, len(syms))
	push := func(left int32) {
		if left < 0 || syms[left].next < 0 {
			return
		}
		l, r := &syms[left], &syms[syms[left].next]
		if order, id, ok := j.join(l, r); ok {
			q.push(candidate{key: uint64(order)<<32 | uint64(uint32(left)), end: r.end, id: id})
		}
	}
	for i := range syms {
		if l.ended() {
			return
		}
		push(int32(i))
	}
	for len(q.heap) > 0 && !l.ended() {
		c := q.pop()
		left := int32(uint32(c.key))
		a := &syms[left]
		// A candidate is stale once one of the two was absorbed or has grown.
		if a.end == a.start || a.next < 0 || syms[a.next].end != c.end {
			continue
		}
		b := &syms[a.next]
		a.end, a.id, a.next = b.end, c.id, b.next
		b.start = b.end
		if a.next >= 0 {
			syms[a.next].prev = left
		}
		push(a.prev)
		push(left)
	}
}

// candidate is a pair that can be merged. Its key orders by merge order, then by place.
type candidate struct {
	key uint64
	end int32 // of the right symbol
	id  int32
}

// queue is a binary heap, smallest key first.
type queue struct{ heap []candidate }

// withRoom empties s and sees to room for n. It makes a new slice where it must: one that grows is cleared at one go,
// which nothing else in the process can interrupt, and new memory comes slowly.
func withRoom[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, 0, n)
	}
	return s[:0]
}

func (q *queue) push(c candidate) {
	q.heap = append(q.heap, c)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].key <= c.key {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
}

func (q *queue) pop() candidate {
	h := q.heap
	top, c := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	q.heap = h
	for i := 0; len(h) > 0; {
		down := 2*i + 1
		if down+1 < len(h) && h[down+1].key < h[down].key {
			down++
		}
		if down >= len(h) || h[down].key >= c.key {
			h[i] = c
			break
		}
		h[i] = h[down]
		i = down
	}
	return top
}
