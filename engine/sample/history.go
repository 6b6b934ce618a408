package sample

// history counts the tokens that the penalties look at: the last so many, or all.
type history struct {
	last   int     // -1: all
	window []int32 // the tokens counted, the oldest at next once there are last; empty where all are
	next   int
	tokens []seen  // by id
	ids    []int32 // those with a count, in no order
}

type seen struct {
	count int32
	place int32 // in ids, where count > 0
}

// newHistory looks back last tokens; 0 means DefaultPenaltyLastN, -1 all.
func newHistory(last, vocab int) *history {
	if last == 0 {
		last = DefaultPenaltyLastN
	}
	h := &history{last: last, tokens: make([]seen, vocab)}
	if last > 0 {
		h.window = make([]int32, 0, min(last, 1<<12)) // one as long as the context grows as it fills
	}
	return h
}

// add counts id and forgets the token that leaves the window.
func (h *history) add(id int32) {
	switch {
	case h.last < 0:
	case len(h.window) < h.last:
		h.window = append(h.window, id)
	default:
		old := h.window[h.next]
		h.window[h.next] = id
		h.next = (h.next + 1) % h.last
		h.drop(old)
	}
	t := &h.tokens[id]
	if t.count == 0 {
		t.place = int32(len(h.ids))
		h.ids = append(h.ids, id)
	}
	t.count++
}

func (h *history) drop(id int32) {
	t := &h.tokens[id]
	if t.count--; t.count > 0 {
		return
	}
	end := len(h.ids) - 1
	moved := h.ids[end]
	h.ids[t.place] = moved
	h.tokens[moved].place = t.place
	h.ids = h.ids[:end]
}

// apply changes the logits of the tokens seen. The repeat penalty (arXiv:1909.05858, section 4.1) divides,
// but multiplies negative logits, which dividing would favour. The others are subtracted: frequency once an
// occurrence, presence once.
func (h *history) apply(logits []float32, p *Params) {
	repeat := p.RepeatPenalty
	if repeat == 0 {
		repeat = 1
	}
	for _, id := range h.ids {
		if int(id) >= len(logits) {
			continue
		}
		l := logits[id]
		if l > 0 {
			l /= repeat
		} else {
			l *= repeat
		}
		logits[id] = l - (float32(h.tokens[id].count)*p.FrequencyPenalty + p.PresencePenalty)
	}
}
