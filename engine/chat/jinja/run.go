package jinja

import (
	"fmt"
	"time"
)

// The state of one render, and its budgets.

// run is one render: its output, its budgets and where it is.
type run struct {
	t      *Template
	vars   *Object
	limits Limits

	out      []byte // the text, or what a macro or block captures
	captured int    // how many captures are open; 0: out is the result

	leaving signal // a break or continue met inside a filter or set block, on its way to the loop

	line      int // of the node being evaluated, for errors
	depth     int
	lazyDepth int
	steps     int64
	pause     int64 // steps at which to look at the clock next
	memory    int64
	maxMemory int64
	deadline  time.Time
}

// abort carries an error up to Render; it is the only panic the package raises.
type abort struct{ err error }

func newRun(t *Template, vars *Object, l Limits) *run {
	if l.Steps <= 0 {
		l.Steps = defaultSteps
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	l.Depth = min(l.Depth, maxDepth)
	if l.Output <= 0 {
		l.Output = defaultOutput
	}
	if l.Time <= 0 {
		l.Time = defaultTime
	}
	if l.Now == nil {
		l.Now = time.Now
	}
	if vars == nil {
		vars = &Object{}
	}
	r := &run{t: t, vars: vars, limits: l, line: 1}
	r.maxMemory = int64(l.Output) * memoryFactor
	r.deadline = time.Now().Add(l.Time)
	return r
}

// fail ends the render as Python's exception kind would.
func (r *run) fail(kind, format string, args ...any) {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	panic(abort{&Error{Kind: kind, Message: message, Line: r.line}})
}

func (r *run) typeError(format string, args ...any)  { r.fail("TypeError", format, args...) }
func (r *run) valueError(format string, args ...any) { r.fail("ValueError", format, args...) }

// failUndefined ends the render because a missing value was used.
func (r *run) failUndefined(u *undefined) {
	kind := u.kind
	if kind == "" {
		kind = "UndefinedError"
	}
	panic(abort{&Error{Kind: kind, Message: u.message(), Line: r.line}})
}

func (r *run) over(budget string, limit int64) {
	panic(abort{&LimitError{Budget: budget, Limit: limit, Line: r.line}})
}

// step counts one node.
func (r *run) step() {
	r.steps++
	if r.steps >= r.pause {
		r.check()
	}
}

// work counts an operation over n bytes or items.
func (r *run) work(n int) {
	r.steps += int64(n) >> 5
	if r.steps >= r.pause {
		r.check()
	}
}

func (r *run) check() {
	if r.steps > r.limits.Steps {
		r.over("steps", r.limits.Steps)
	}
	if time.Now().After(r.deadline) {
		r.over("time", int64(r.limits.Time))
	}
	if c := r.limits.Context; c != nil && c.Err() != nil {
		panic(abort{c.Err()})
	}
	r.pause = min(r.steps+2048, r.limits.Steps+1)
}

// alloc counts n bytes about to be made.
func (r *run) alloc(n int64) {
	if n < 0 || n > r.maxMemory-r.memory {
		r.over("memory", r.maxMemory)
	}
	r.memory += n
	r.steps += n >> 8
	if r.steps >= r.pause {
		r.check()
	}
}

// itemSize is what a list's item costs, its value apart.
const itemSize = 16

// list makes a list of items, counted.
func (r *run) list(items []Value) *List {
	r.alloc(int64(len(items)+2) * itemSize)
	return &List{items}
}

// str counts a string just made.
func (r *run) str(s string) string {
	r.alloc(int64(len(s)))
	return s
}

func (r *run) write(s string) {
	if r.captured == 0 && len(r.out)+len(s) > r.limits.Output {
		r.over("output", int64(r.limits.Output))
	}
	r.alloc(int64(len(s)))
	r.out = append(r.out, s...)
}

// enter counts a call; exit must follow.
func (r *run) enter() {
	r.depth++
	if r.depth > r.limits.Depth {
		r.over("depth", int64(r.limits.Depth))
	}
}

func (r *run) exit() { r.depth-- }

// capture runs f and returns what it wrote.
func (r *run) capture(f func()) string {
	saved := r.out
	r.out = nil
	r.captured++
	f()
	s := r.str(string(r.out))
	r.out = saved
	r.captured--
	return s
}

// scope holds the variables of one block. Reading goes outwards, writing stays.
type scope struct {
	parent *scope
	vars   []binding
}

type binding struct {
	name  int // index in Template.names
	value Value
}

// assign sets a variable of s itself.
func (r *run) assign(s *scope, name int, v Value) {
	r.work(len(s.vars))
	for i := range s.vars {
		if s.vars[i].name == name {
			s.vars[i].value = v
			return
		}
	}
	s.vars = append(s.vars, binding{name, v})
}

// lookup finds a variable: in the scopes, the context, the globals.
func (r *run) lookup(s *scope, name int) Value {
	for ; s != nil; s = s.parent {
		r.work(len(s.vars))
		for i := range s.vars {
			if s.vars[i].name == name {
				return s.vars[i].value
			}
		}
	}
	n := r.t.names[name]
	if v, ok := r.vars.Get(n); ok {
		return v
	}
	if g, ok := globals[n]; ok {
		return g
	}
	return undefinedName(n)
}
