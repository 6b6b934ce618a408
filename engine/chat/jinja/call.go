package jinja

import "slices"

// Calls: arguments and how parameters take them, functions, macros.

// arguments are a call's evaluated arguments.
type arguments struct {
	pos []Value
	kw  []keyword
}

type keyword struct {
	name string
	v    Value
}

// take removes a keyword argument.
func (a *arguments) take(name string) (Value, bool) {
	for i, k := range a.kw {
		if k.name == name {
			a.kw = slices.Delete(slices.Clone(a.kw), i, i+1)
			return k.v, true
		}
	}
	return nil, false
}

// function is a global, or a method bound to its object.
type function struct {
	name string
	// params names the parameters that bind takes apart; one that ends in ? may be missing. Nil with raw set.
	params []string
	fn     func(r *run, a []Value) Value
	raw    func(r *run, a arguments) Value
}

func variadic(name string, fn func(r *run, a arguments) Value) *function {
	return &function{name: name, raw: fn}
}

// bind lays arguments out in the order of params; what was not given is missing.
func (r *run) bind(name string, params []string, a arguments) []Value {
	if len(a.pos) > len(params) {
		r.typeError("%s() takes at most %d arguments (%d given)", name, len(params), len(a.pos))
	}
	out := make([]Value, len(params))
	for i, p := range params {
		optional := p[len(p)-1] == '?'
		if optional {
			p = p[:len(p)-1]
		}
		v, ok := a.take(p)
		switch {
		case i < len(a.pos):
			if ok {
				r.typeError("%s() got multiple values for argument '%s'", name, p)
			}
			out[i] = a.pos[i]
		case ok:
			out[i] = v
		case optional:
			out[i] = missing
		default:
			r.typeError("%s() missing required argument '%s' (pos %d)", name, p, i+1)
		}
	}
	if len(a.kw) > 0 {
		r.typeError("%s() got an unexpected keyword argument '%s'", name, a.kw[0].name)
	}
	return out
}

// call calls any value.
func (r *run) call(fn Value, a arguments) Value {
	r.step()
	switch f := fn.(type) {
	case *function:
		if f.raw != nil {
			return f.raw(r, a)
		}
		return f.fn(r, r.bind(f.name, f.params, a))
	case *macro:
		return f.call(r, a)
	case *loop:
		return f.recurse(r, a)
	case *undefined:
		r.failUndefined(f)
	case *joiner:
		return f.call()
	}
	r.typeError("'%s' object is not callable", typeName(fn))
	return nil
}

// macro is a macro with the scope it was defined in.
type macro struct {
	def   *macroDef
	scope *scope
}

func (m *macro) call(r *run, a arguments) Value {
	r.enter()
	defer r.exit()
	d := m.def
	line := r.line
	s := &scope{parent: m.scope, vars: make([]binding, 0, len(d.params)+3)}
	explicitCaller := slices.Contains(d.names, "caller")
	var unset []int
	for i, name := range d.names {
		switch {
		case i < len(a.pos):
			s.vars = append(s.vars, binding{d.params[i], a.pos[i]})
		default:
			v, ok := a.take(name)
			if !ok {
				v = &undefined{hint: "parameter " + quote(name) + " was not provided", name: name}
				unset = append(unset, i)
			}
			s.vars = append(s.vars, binding{d.params[i], v})
		}
	}
	if d.caller && !explicitCaller {
		v, ok := a.take("caller")
		if !ok || v == nil {
			v = &undefined{hint: "No caller defined", name: "caller"}
		}
		s.vars = append(s.vars, binding{nameCaller, v})
	}
	if d.kwargs {
		o := &Object{}
		for _, k := range a.kw {
			r.setItem(o, k.name, k.v)
		}
		s.vars = append(s.vars, binding{nameKwargs, o})
	} else if len(a.kw) > 0 {
		r.typeError("macro %s takes no keyword argument %s", m.quotedName(), quote(a.kw[0].name))
	}
	if d.varargs {
		s.vars = append(s.vars, binding{nameVarargs, Tuple(a.pos[min(len(a.pos), len(d.params)):])})
	} else if len(a.pos) > len(d.params) {
		r.typeError("macro %s takes not more than %d argument(s)", m.quotedName(), len(d.params))
	}
	// Defaults see the parameters before them.
	for _, i := range unset {
		if at := i - (len(d.params) - len(d.defaults)); at >= 0 {
			s.vars[i].value = d.defaults[at].eval(r, s)
		}
	}
	text := r.capture(func() { execBody(r, s, d.body) })
	r.line = line
	return text
}

func (m *macro) quotedName() string {
	if m.def.name == "" {
		return "None"
	}
	return quote(m.def.name)
}
