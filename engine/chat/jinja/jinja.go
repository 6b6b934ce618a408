// Package jinja renders the Jinja2 chat templates that models carry, as transformers would: the same dialect
// (trim_blocks, lstrip_blocks, loop controls, generation blocks, an immutable sandbox), the same text, the same
// errors. Templates come from downloaded files, so a render holds to budgets that no template can exceed.
//
//	t, err := jinja.Compile(source)
//	text, err := t.Render(context, jinja.Limits{})
//
// The language is the one of Jinja 3.1, https://jinja.palletsprojects.com/en/stable/templates/, without template
// inheritance, includes and imports: a chat template is one file. Values behave as Python's.
package jinja

import (
	"context"
	"fmt"
	"time"
)

// Limits are a render's budgets. A zero field takes the default.
type Limits struct {
	// Steps counts evaluated nodes, and the work of large operations in proportion to their size. Default 10 million.
	Steps int64
	// Depth counts nested macro calls, call blocks and recursive loops. Default 200, at most 1000.
	Depth int
	// Output is the text's size in bytes. Default 32 MiB. Strings, lists and captured text made on the way share
	// a second budget of eight times this size, counted without regard to what was freed since.
	Output int
	// Time is wall time. Default 10 seconds.
	Time time.Duration

	// Context ends the render early when it is cancelled. Nil: never.
	Context context.Context
	// Now is what strftime_now reads. Nil: time.Now.
	Now func() time.Time
	// Item is called when a loop that writes straight to the result has rendered one item: where in the text the
	// item's turn began and where it ended. Nil: not called. It is how a caller learns where messages end.
	Item func(item Value, start, end int)
}

const (
	defaultSteps  = 10_000_000
	defaultDepth  = 200
	maxDepth      = 1000
	defaultOutput = 32 << 20
	defaultTime   = 10 * time.Second
	memoryFactor  = 8
)

// Template is a compiled template. It is immutable: many renders may use it at once.
type Template struct {
	body  []stmt
	names []string // variable names by the index that nodes hold
}

// SyntaxError is returned by Compile for a source that is not a template.
type SyntaxError struct {
	Line    int
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("template line %d: %s", e.Line, e.Message)
}

// Error is returned by Render when the template does what Python would refuse. Kind is the name of Python's
// exception: UndefinedError, TypeError, ...
type Error struct {
	Kind    string
	Message string
	Line    int
}

func (e *Error) Error() string {
	return fmt.Sprintf("template line %d: %s: %s", e.Line, e.Kind, e.Message)
}

// RaiseError is returned by Render when the template called raise_exception: the conversation has a shape that
// the model does not take, and Message says which.
type RaiseError struct {
	Message string
	Line    int
}

func (e *RaiseError) Error() string { return e.Message }

// LimitError is returned by Render when a budget is spent. Budget is "steps", "depth", "output", "memory" or "time".
type LimitError struct {
	Budget string
	Limit  int64 // in the budget's unit; nanoseconds for time
	Line   int
}

func (e *LimitError) Error() string {
	if e.Budget == "time" {
		return fmt.Sprintf("template line %d: over its time budget of %v", e.Line, time.Duration(e.Limit))
	}
	return fmt.Sprintf("template line %d: over its %s budget of %d", e.Line, e.Budget, e.Limit)
}

// Compile parses a template in time linear in its size. The error is a *SyntaxError.
func Compile(source string) (t *Template, err error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	return parse(tokens)
}

// Render evaluates the template with the variables of vars, which it does not change. Text rendered before an
// error is not returned.
func (t *Template) Render(vars *Object, l Limits) (text string, err error) {
	r := newRun(t, vars, l)
	defer func() {
		if p := recover(); p != nil {
			stop, ok := p.(abort)
			if !ok {
				panic(p)
			}
			text, err = "", stop.err
		}
	}()
	execBody(r, &scope{}, t.body)
	return string(r.out), nil
}
