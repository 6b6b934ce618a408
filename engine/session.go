package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"ingot/engine/cache"
	"ingot/engine/sched"
	"ingot/engine/token"
)

// ErrBusy is returned when all slots are taken.
var ErrBusy = errors.New("all slots are busy")

// Session is one timeline in the caller's own hands: tokens go in, logits come out. It holds a slot until closed.
// Its methods may be called from any goroutine, one after the other, but not from a sink.
type Session struct {
	s *sched.Session
	e *Engine
}

// NewSession takes the least recently used free slot and empties it. It returns ErrBusy where there is none.
func (e *Engine) NewSession() (*Session, error) {
	s, err := e.sched.Session()
	switch {
	case errors.Is(err, sched.ErrClosed):
		return nil, ErrClosed
	case err != nil:
		return nil, ErrBusy
	}
	return &Session{s, e}, nil
}

// Feed appends tokens; sink, if not nil, sees the logits [vocab] after the last of them, valid during the call only.
// Tokens that do not fit the context are an ErrPromptTooLong and none is taken; after another error the session is empty.
func (s *Session) Feed(tokens []int32, sink func(logits []float32)) error {
	return s.feed(tokens, false, sink)
}

// FeedAll is Feed with sink called after every token, in order.
func (s *Session) FeedAll(tokens []int32, sink func(logits []float32)) error {
	return s.feed(tokens, true, sink)
}

func (s *Session) feed(tokens []int32, all bool, sink func([]float32)) error {
	for i, id := range tokens {
		if id < 0 || int(id) >= s.e.info.Vocab {
			return fmt.Errorf("%w: token %d at position %d is not in the vocabulary of %d", ErrBadRequest, id, i, s.e.info.Vocab)
		}
	}
	err := s.s.Feed(tokens, all, sink)
	switch {
	case errors.Is(err, cache.ErrFull):
		return fmt.Errorf("%w: %d tokens more do not fit the context of %d", ErrPromptTooLong, len(tokens), s.e.info.Context)
	case errors.Is(err, sched.ErrClosed):
		return ErrClosed
	}
	return err
}

// Len is the number of tokens fed.
func (s *Session) Len() int { return s.s.Len() }

// Rewind forgets tokens down to at most n and returns how many are left; a recurrent model can only go back to a
// position that Snapshot kept, or to the start.
func (s *Session) Rewind(n int) int { return s.s.Rewind(n) }

// Snapshot keeps the present position for Rewind.
func (s *Session) Snapshot() { s.s.Snapshot() }

// Close gives the slot back.
func (s *Session) Close() { s.s.Close() }

// Vocab is the model's tokenizer.
func (e *Engine) Vocab() *token.Vocab { return e.vocab }

// Tokenize encodes text; with special, control tokens written in it are read as such. No BOS is added. Long texts take
// turns; it returns ctx's error soon after ctx has ended.
func (e *Engine) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	return e.encode(ctx, text, special, math.MaxInt)
}

// Piece is the bytes of one token, which may end within a character; Detokenize puts characters together.
func (e *Engine) Piece(id int32) []byte { return e.vocab.Piece(id) }

// Detokenize is the text of tokens, control tokens included.
func (e *Engine) Detokenize(ids []int32) string { return e.vocab.Decode(ids, true) }
