package jinja

// How statements run; loops and their loop variable.

func execBody(r *run, s *scope, body []stmt) signal {
	for _, n := range body {
		if sig := n.exec(r, s); sig != proceed {
			return sig
		}
	}
	return proceed
}

func (n *textStmt) exec(r *run, s *scope) signal {
	r.step()
	r.write(n.text)
	return proceed
}

func (n *outputStmt) exec(r *run, s *scope) signal {
	r.step()
	r.line = n.line
	v := n.x.eval(r, s)
	if r.leaving != proceed {
		return r.leave()
	}
	if t, ok := v.(string); ok {
		r.write(t)
	} else {
		r.write(r.text(v))
	}
	return proceed
}

func (n *setStmt) exec(r *run, s *scope) signal {
	r.step()
	r.line = n.line
	v := n.x.eval(r, s)
	if r.leaving != proceed {
		return r.leave()
	}
	r.store(s, &n.to, v)
	return proceed
}

// leave passes on the signal that ended a block's body.
func (r *run) leave() signal {
	sig := r.leaving
	r.leaving = proceed
	return sig
}

// store assigns v to a target, taking tuples apart.
func (r *run) store(s *scope, to *target, v Value) {
	switch {
	case to.tuple:
		items := r.unpack(v, len(to.items))
		for i := range to.items {
			r.store(s, &to.items[i], items[i])
		}
	case to.attr != "":
		ns, ok := r.lookup(s, to.name).(*namespace)
		if !ok {
			r.fail("TemplateRuntimeError", "cannot assign attribute on non-namespace object")
		}
		ns.attrs.Set(to.attr, v)
	default:
		r.assign(s, to.name, v)
	}
}

// unpack takes exactly n values out of an iterable.
func (r *run) unpack(v Value, n int) []Value {
	next := r.iterate(v, "cannot unpack non-iterable %s object")
	items := make([]Value, 0, n)
	for {
		e, ok := next()
		if !ok {
			break
		}
		if len(items) == n {
			r.valueError("too many values to unpack (expected %d)", n)
		}
		items = append(items, e)
	}
	if len(items) < n {
		r.valueError("not enough values to unpack (expected %d, got %d)", n, len(items))
	}
	return items
}

func (n *ifStmt) exec(r *run, s *scope) signal {
	for i, test := range n.tests {
		r.step()
		r.line = n.lines[i]
		if truth(test.eval(r, s)) {
			return execBody(r, s, n.bodies[i])
		}
	}
	if len(n.bodies) > len(n.tests) {
		return execBody(r, s, n.bodies[len(n.tests)])
	}
	return proceed
}

func (n *scopeStmt) exec(r *run, s *scope) signal {
	inner := &scope{parent: s}
	for i := range n.to {
		r.store(inner, &n.to[i], n.vals[i].eval(r, s))
	}
	return execBody(r, inner, n.body)
}

func (n *loopControl) exec(r *run, s *scope) signal { return n.s }

func (n *macroStmt) exec(r *run, s *scope) signal {
	r.step()
	r.assign(s, n.name, &macro{n.def, s})
	return proceed
}

func (n *callBlockStmt) exec(r *run, s *scope) signal {
	r.step()
	r.line = n.line
	fn := n.call.fn.eval(r, s)
	a := n.call.args.eval(r, s)
	a.kw = append(a.kw, keyword{"caller", &macro{n.def, s}})
	r.write(r.text(r.call(fn, a)))
	return proceed
}

// loop is a for statement's "loop" variable.
type loop struct {
	n      *forStmt
	scope  *scope // around the statement, for recursion
	source Value
	next   func() (Value, bool)
	depth0 int64

	index0       int64
	cur, prev    Value
	peeked       bool
	after        Value
	more         bool // after holds a value
	length       int64
	counted      bool
	lastChanged  Tuple
	changedBound bool
}

func (n *forStmt) exec(r *run, s *scope) signal {
	r.step()
	r.line = n.line
	n.run(r, s, n.in.eval(r, s), 0)
	return proceed
}

// run loops over v; depth0 counts recursions.
func (n *forStmt) run(r *run, s *scope, v Value, depth0 int64) {
	next := r.iterate(v, "'%s' object is not iterable")
	l := &loop{n: n, scope: s, source: v, depth0: depth0, index0: -1, next: next}
	if n.test != nil {
		l.source = nil
		l.next = func() (Value, bool) {
			for {
				e, ok := next()
				if !ok {
					return nil, false
				}
				r.step()
				inner := &scope{parent: s}
				r.store(inner, &n.to, e)
				if truth(n.test.eval(r, inner)) {
					return e, true
				}
			}
		}
	}
	// As in Jinja, else also runs where no round came to its end.
	ran := false
	for l.advance() {
		r.step()
		inner := &scope{parent: s, vars: make([]binding, 0, 4)}
		r.store(inner, &n.to, l.cur)
		inner.vars = append(inner.vars, binding{nameLoop, l})
		start := len(r.out)
		sig := execBody(r, inner, n.body)
		if r.limits.Item != nil && r.captured == 0 {
			r.limits.Item(l.cur, start, len(r.out))
		}
		if sig == breaking {
			break
		}
		ran = ran || sig == proceed
	}
	if !ran {
		execBody(r, &scope{parent: s}, n.other)
	}
}

func (l *loop) advance() bool {
	l.prev = l.cur
	if l.peeked {
		l.peeked = false
		if !l.more {
			return false
		}
		l.cur = l.after
	} else {
		v, ok := l.next()
		if !ok {
			return false
		}
		l.cur = v
	}
	l.index0++
	return true
}

func (l *loop) peek() (Value, bool) {
	if !l.peeked {
		l.after, l.more = l.next()
		l.peeked = true
	}
	return l.after, l.more
}

// len counts the items, reading the rest of an iterator that does not know its length.
func (l *loop) len(r *run) int64 {
	if l.counted {
		return l.length
	}
	l.counted = true
	if n, ok := length(l.source); ok {
		l.length = n
		return n
	}
	var rest []Value
	for {
		v, ok := l.next()
		if !ok {
			break
		}
		r.alloc(itemSize)
		rest = append(rest, v)
	}
	l.length = l.index0 + 1 + int64(len(rest))
	if l.peeked && l.more {
		l.length++
	}
	i := 0
	l.next = func() (Value, bool) {
		if i == len(rest) {
			return nil, false
		}
		i++
		return rest[i-1], true
	}
	return l.length
}

// attr is loop.name; ok is false for a name that loop does not have.
func (l *loop) attr(r *run, name string) (v Value, ok bool) {
	switch name {
	case "index0":
		return l.index0, true
	case "index":
		return l.index0 + 1, true
	case "first":
		return l.index0 == 0, true
	case "last":
		_, more := l.peek()
		return !more, true
	case "length":
		return l.len(r), true
	case "revindex":
		return l.len(r) - l.index0, true
	case "revindex0":
		return l.len(r) - l.index0 - 1, true
	case "depth":
		return l.depth0 + 1, true
	case "depth0":
		return l.depth0, true
	case "previtem":
		if l.index0 == 0 {
			return &undefined{hint: "there is no previous item"}, true
		}
		return l.prev, true
	case "nextitem":
		if v, more := l.peek(); more {
			return v, true
		}
		return &undefined{hint: "there is no next item"}, true
	case "cycle":
		return variadic("cycle", func(r *run, a arguments) Value {
			if len(a.pos) == 0 {
				r.typeError("no items for cycling given")
			}
			return a.pos[l.index0%int64(len(a.pos))]
		}), true
	case "changed":
		return variadic("changed", func(r *run, a arguments) Value {
			now := Tuple(a.pos)
			if l.changedBound && r.equal(l.lastChanged, now) {
				return false
			}
			l.lastChanged, l.changedBound = now, true
			return true
		}), true
	}
	return nil, false
}

// recurse renders the loop's body over an item's children.
func (l *loop) recurse(r *run, a arguments) Value {
	if !l.n.recursive {
		r.typeError("The loop must have the 'recursive' marker to be called recursively.")
	}
	if len(a.pos) != 1 || len(a.kw) > 0 {
		r.typeError("LoopContext.__call__() takes 2 positional arguments but %d were given", len(a.pos)+1)
	}
	r.enter()
	defer r.exit()
	return r.capture(func() { l.n.run(r, l.scope, a.pos[0], l.depth0+1) })
}
