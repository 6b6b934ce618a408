package token

import (
	"context"
	"errors"
	"math"
)

// ErrMany says that a text has more tokens than were asked for.
var ErrMany = errors.New("too many tokens")

// limit says when an encoding is given up.
type limit struct {
	ctx   context.Context
	most  int   // tokens
	steps uint  // since the beginning
	err   error // why it was given up
}

// unlimited never ends.
func unlimited() *limit { return &limit{ctx: context.Background(), most: math.MaxInt} }

// seldom is how many steps go by before the context is looked at again.
const seldom = 1 << 12

// ended takes a step and tells whether the encoding was given up.
func (l *limit) ended() bool {
	if l.steps++; l.steps%seldom == 0 && l.err == nil {
		l.err = l.ctx.Err()
	}
	return l.err != nil
}

// over is ended with a look at the number of tokens there are, or must at least become.
func (l *limit) over(tokens int) bool {
	if tokens > l.most && l.err == nil {
		l.err = ErrMany
	}
	return l.ended()
}
