package chat

import "strings"

// state says what the next character of an answer belongs to.
type state uint8

const (
	undecided state = iota // nothing but white space so far: a thought may open
	inThought              // right after the opening mark: line breaks are padding
	thinking
	inGap // after the closing mark: line breaks are padding
	inAnswer
)

// Splitter separates thoughts from the answer as they stream. What may be the start of a mark is held back
// until it is known; line breaks between a mark and its text are dropped.
type Splitter struct {
	tags    Tags
	state   state
	held    string
	ends    []string // what ends a thought: its closing mark first; the others are part of the answer
	harmony *harmony // takes the place of all else
}

// NewSplitter splits an answer; startInThought says that the prompt left a thought open (Rendered.Thinking).
func NewSplitter(startInThought bool, tags Tags) *Splitter {
	start := undecided
	if startInThought {
		start = inThought
	}
	return newSplitter(start, tags)
}

// newSplitter starts anywhere; also lists marks that end a thought by beginning something else.
func newSplitter(start state, tags Tags, also ...string) *Splitter {
	if tags.Close == "" && (start == inThought || start == thinking) {
		start = undecided // no thought can end
	}
	s := &Splitter{tags: tags, state: start, ends: append([]string{tags.Close}, also...)}
	if tags.Harmony {
		s.harmony = newHarmony(start)
	}
	return s
}

// Push takes the next piece of the answer and returns what is certain.
func (s *Splitter) Push(text string) (reasoning, answer string) {
	if s.harmony != nil {
		d := s.harmony.push(text)
		return d.Reasoning, d.Text
	}
	s.held += text
	return s.drain(false)
}

// Flush returns what was held back, at the end of the answer.
func (s *Splitter) Flush() (reasoning, answer string) {
	if s.harmony != nil {
		d := s.harmony.flush()
		return d.Reasoning, d.Text
	}
	return s.drain(true)
}

const lineBreaks = "\r\n"

func (s *Splitter) drain(final bool) (reasoning, answer string) {
	for {
		switch s.state {
		case undecided:
			t := strings.TrimLeft(s.held, " \t\r\n")
			mark := s.tags.Open
			if mark == "" {
				mark = s.tags.Answer
			}
			switch {
			case mark != "" && strings.HasPrefix(t, mark):
				s.held = t[len(mark):]
				if s.state = inThought; s.tags.Open == "" {
					s.state = inGap
				}
			case !final && (t == "" && mark != "" || mark != "" && strings.HasPrefix(mark, t)):
				return
			default:
				s.state = inAnswer
			}
		case inThought:
			// Some models open the thought again that the prompt has opened.
			t := strings.TrimLeft(s.held, lineBreaks)
			if s.tags.Open != "" && strings.HasPrefix(t, s.tags.Open) {
				s.held = t[len(s.tags.Open):]
				continue
			}
			if !final && strings.HasPrefix(s.tags.Open, t) {
				return
			}
			s.held, s.state = t, thinking
		case thinking:
			i, mark := first(s.held, s.ends)
			if i >= 0 {
				reasoning += strings.TrimRight(s.held[:i], lineBreaks)
				if s.held = s.held[i:]; mark == s.tags.Close {
					s.held = s.held[len(mark):]
				}
				s.state = inGap
				continue
			}
			n := len(s.held)
			if !final {
				n -= partial(s.held, s.ends)
			}
			n = len(strings.TrimRight(s.held[:n], lineBreaks))
			reasoning += s.held[:n]
			if s.held = s.held[n:]; final {
				s.held = ""
			}
			return
		case inGap:
			t := strings.TrimLeft(s.held, lineBreaks)
			if t != "" && s.tags.Answer != "" && strings.HasPrefix(t, s.tags.Answer) {
				t = strings.TrimLeft(t[len(s.tags.Answer):], lineBreaks)
			} else if !final && (t == "" || strings.HasPrefix(s.tags.Answer, t)) {
				s.held = t
				return
			}
			s.held, s.state = t, inAnswer
		case inAnswer:
			end := s.tags.AnswerEnd
			if end == "" {
				answer += s.held
				s.held = ""
				return
			}
			if i := strings.Index(s.held, end); i >= 0 {
				answer += strings.TrimRight(s.held[:i], lineBreaks)
				s.held = s.held[i+len(end):]
				continue
			}
			n := len(s.held)
			if !final {
				n -= partial(s.held, []string{end})
				n = len(strings.TrimRight(s.held[:n], lineBreaks))
			}
			answer += s.held[:n]
			s.held = s.held[n:]
			return
		}
	}
}

// first finds the earliest of several marks.
func first(s string, marks []string) (at int, mark string) {
	at = -1
	for _, m := range marks {
		if m == "" {
			continue
		}
		if i := strings.Index(s, m); i >= 0 && (at < 0 || i < at) {
			at, mark = i, m
		}
	}
	return at, mark
}

// partial is the length of the longest end of s that a mark starts with.
func partial(s string, marks []string) int {
	best := 0
	for _, m := range marks {
		for n := min(len(m)-1, len(s)); n > best; n-- {
			if strings.HasSuffix(s, m[:n]) {
				best = n
			}
		}
	}
	return best
}
