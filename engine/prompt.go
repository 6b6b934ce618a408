package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"ingot/engine/chat"
	"ingot/engine/token"
)

// prompt is a request's input, encoded.
type prompt struct {
	tokens []int32
	keep   []int // positions where messages end
	reader *chat.Reader
	shown  map[int32]bool // control tokens whose text the reader wants
	text   string         // of a raw prompt, for Echo
}

func (e *Engine) prepare(ctx context.Context, r *Request) (*prompt, error) {
	given := 0
	for _, set := range []bool{len(r.Messages) > 0, r.Text != "", len(r.Tokens) > 0} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, fmt.Errorf("%w: exactly one of messages, text and tokens is needed", ErrBadRequest)
	}
	if err := r.Sampling.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	if r.MaxTokens < 0 {
		return nil, fmt.Errorf("%w: max tokens is %d", ErrBadRequest, r.MaxTokens)
	}
	if r.Logprobs < -1 {
		return nil, fmt.Errorf("%w: %d logprobs a token", ErrBadRequest, r.Logprobs)
	}
	p := &prompt{text: r.Text}
	var err error
	switch {
	case len(r.Messages) > 0:
		err = e.renderChat(ctx, r, p)
	case r.Text != "":
		p.tokens, err = e.encode(ctx, r.Text, false, e.mostCounted())
		p.tokens = e.withBOS(p.tokens)
	default:
		p.tokens = r.Tokens
		if len(r.Tokens) >= e.info.Context {
			break
		}
		for i, id := range r.Tokens {
			if id < 0 || int(id) >= e.info.Vocab {
				return nil, fmt.Errorf("%w: token %d at position %d is not in the vocabulary of %d", ErrBadRequest, id, i, e.info.Vocab)
			}
		}
		p.text = e.vocab.Decode(r.Tokens, false)
	}
	switch {
	case errors.Is(err, token.ErrMany):
		return nil, fmt.Errorf("%w: the prompt has more than %d tokens, the context holds %d", ErrPromptTooLong, e.mostCounted(), e.info.Context)
	case err != nil:
		return nil, err
	}
	if len(p.tokens) == 0 {
		return nil, fmt.Errorf("%w: the prompt has no tokens", ErrBadRequest)
	}
	if n := len(p.tokens); n >= e.info.Context {
		return nil, fmt.Errorf("%w: the prompt has %d tokens, the context holds %d and one must be left for the answer", ErrPromptTooLong, n, e.info.Context)
	}
	return p, nil
}

// mostCounted is how many tokens of a prompt are counted before it is too long without a figure.
func (e *Engine) mostCounted() int { return 4 * e.info.Context }

// longText is the length in bytes from which texts are encoded one after the other: each byte of a word without an end
// takes some forty of memory while pairs are merged.
const longText = 1 << 20

// encode turns a text from outside into tokens. It returns an ErrNoVocabulary,
// token.ErrMany or the context's error.
func (e *Engine) encode(ctx context.Context, text string, special bool, most int) ([]int32, error) {
	if !e.vocab.HasTexts() {
		return nil, fmt.Errorf("%w: %s: %w", ErrBadRequest, filepath.Base(e.info.Path), ErrNoVocabulary)
	}
	if len(text) > longText {
		select {
		case e.long <- struct{}{}:
			defer func() {
				debug.FreeOSMemory() // or the next one's would come on top
				<-e.long
			}()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return e.vocab.EncodeWithin(ctx, text, special, most)
}

func (e *Engine) withBOS(ids []int32) []int32 {
	if bos, ok := e.vocab.BOS(); ok && e.vocab.AddBOS() && (len(ids) == 0 || ids[0] != bos) {
		return append([]int32{bos}, ids...)
	}
	return ids
}

func (e *Engine) renderChat(ctx context.Context, r *Request, p *prompt) error {
	if e.template == nil && !e.vocab.HasTexts() {
		return fmt.Errorf("%w, and %w", ErrNoTemplate, ErrNoVocabulary)
	}
	if e.template == nil {
		return fmt.Errorf("%w; ask for a plain completion instead", ErrNoTemplate)
	}
	text, err := e.template.Render(r.Prompt)
	if errors.Is(err, chat.ErrRefused) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	ids, err := e.encode(ctx, text.Text, true, e.mostCounted())
	if err != nil {
		return err
	}
	p.tokens = e.withBOS(ids)
	p.keep = e.positions(ids, text.Boundaries)
	for i := range p.keep {
		p.keep[i] += len(p.tokens) - len(ids)
	}
	p.reader = e.template.Reader(text, r.Tools)
	p.shown = map[int32]bool{}
	for _, m := range e.template.Markers() {
		if id, ok := e.vocab.Lookup(m); ok {
			p.shown[id] = true
		}
	}
	return nil
}

// positions turns byte offsets in the prompt's text into token positions: how many whole tokens lie before each.
// A tokenizer that adds a space makes that one less at times, which costs reading one token again.
func (e *Engine) positions(tokens []int32, offsets []int) []int {
	var at []int
	bytes, next := 0, 0
	for i, id := range tokens {
		if next == len(offsets) {
			break
		}
		bytes += len(e.vocab.Piece(id))
		for next < len(offsets) && bytes > offsets[next] {
			at = append(at, i)
			next++
		}
	}
	return at
}
