package jinja

import "unicode/utf8"

// Iteration: lengths, iterators, and lists made of them.

// length is len(v) where Python has one.
func length(v Value) (int64, bool) {
	switch v := v.(type) {
	case string:
		return int64(utf8.RuneCountInString(v)), true
	case markup:
		return int64(utf8.RuneCountInString(string(v))), true
	case *List:
		return int64(len(v.items)), true
	case Tuple:
		return int64(len(v)), true
	case *Object:
		return int64(len(v.keys)), true
	case rangeValue:
		return v.n, true
	case dictView:
		return int64(len(v.of.keys)), true
	case *undefined:
		return 0, true
	}
	return 0, false
}

// len is len(v), with Python's error.
func (r *run) len(v Value) int64 {
	if l, ok := v.(*loop); ok {
		return l.len(r)
	}
	if s, ok := asString(v); ok {
		r.work(len(s))
	}
	n, ok := length(v)
	if !ok {
		r.typeError("object of type '%s' has no len()", typeName(v))
	}
	return n
}

// iterator returns a function that yields v's items one by one; nil where v has none.
func (r *run) iterator(v Value) func() (Value, bool) {
	i := 0
	switch v := v.(type) {
	case string:
		return r.characters(v)
	case markup:
		return r.characters(string(v))
	case *List:
		return r.sequence(len(v.items), func(i int) Value { return v.items[i] })
	case Tuple:
		return r.sequence(len(v), func(i int) Value { return v[i] })
	case *Object:
		return r.sequence(len(v.keys), func(i int) Value { return v.keys[i] })
	case dictView:
		return r.sequence(len(v.of.keys), v.at)
	case rangeValue:
		return func() (Value, bool) {
			r.step()
			if int64(i) >= v.n {
				return nil, false
			}
			i++
			return v.at(int64(i - 1)), true
		}
	case *generator:
		return v.next
	case *undefined:
		return func() (Value, bool) { return nil, false }
	case *loop:
		return func() (Value, bool) {
			r.step()
			if !v.advance() {
				return nil, false
			}
			return Tuple{v.cur, v}, true
		}
	}
	return nil
}

func (r *run) sequence(n int, at func(i int) Value) func() (Value, bool) {
	i := 0
	return func() (Value, bool) {
		r.step()
		if i >= n {
			return nil, false
		}
		i++
		return at(i - 1), true
	}
}

func (r *run) characters(s string) func() (Value, bool) {
	return func() (Value, bool) {
		r.step()
		if s == "" {
			return nil, false
		}
		_, n := utf8.DecodeRuneInString(s)
		c := s[:n]
		s = s[n:]
		return c, true
	}
}

// iterate is iterator with the error that refuses v; the message has one %s for the type's name.
func (r *run) iterate(v Value, message string) func() (Value, bool) {
	if next := r.iterator(v); next != nil {
		return next
	}
	r.typeError(message, typeName(v))
	return nil
}

// items is list(v), counted.
func (r *run) items(v Value) []Value {
	switch v := v.(type) {
	case *List:
		r.alloc(int64(len(v.items)) * itemSize)
		return append([]Value(nil), v.items...)
	case Tuple:
		r.alloc(int64(len(v)) * itemSize)
		return append([]Value(nil), v...)
	}
	next := r.iterate(v, "'%s' object is not iterable")
	var out []Value
	for {
		e, ok := next()
		if !ok {
			return out
		}
		r.alloc(itemSize)
		out = append(out, e)
	}
}

// lazy makes a generator whose items come from v through f; f says whether to keep one.
func (r *run) lazy(v Value, f func(Value) (Value, bool)) *generator {
	var next func() (Value, bool)
	return &generator{"generator", func() (Value, bool) {
		defer r.enterLazy()()
		if next == nil {
			next = r.iterate(v, "'%s' object is not iterable")
		}
		for {
			e, ok := next()
			if !ok {
				return nil, false
			}
			r.step()
			if e, ok = f(e); ok {
				return e, true
			}
		}
	}}
}

// enterLazy counts iterators that read from iterators, which a loop can stack up; the result takes it back.
func (r *run) enterLazy() func() {
	r.lazyDepth++
	if r.lazyDepth > maxNest {
		r.over("depth", maxNest)
	}
	return func() { r.lazyDepth-- }
}
