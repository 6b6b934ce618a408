package jinja

import "math/big"

// The tests that stand after "is".

// test applies a test by name.
func (r *run) test(name string, v Value, a arguments) Value {
	t, ok := tests[name]
	if !ok {
		r.fail("TemplateRuntimeError", "No test named %s found.", quote(name))
	}
	return t.fn(r, v, r.bind(name, t.params, a))
}

func isKind(f func(v Value) bool) builtin {
	return builtin{fn: func(r *run, v Value, a []Value) Value { return f(v) }}
}

func comparison(op string) builtin {
	return builtin{params: []string{"other"}, fn: func(r *run, v Value, a []Value) Value { return r.compare(op, v, a[0]) }}
}

func remainder(by, want int64) builtin {
	return builtin{fn: func(r *run, v Value, a []Value) Value { return r.equal(r.arith("%", v, by), want) }}
}

func caseTest(up bool) builtin {
	return builtin{fn: func(r *run, v Value, a []Value) Value { return isCase(r.text(v), up) }}
}

var tests map[string]builtin

func init() {
	tests = map[string]builtin{
		"defined":   isKind(func(v Value) bool { _, ok := v.(*undefined); return !ok }),
		"undefined": isKind(func(v Value) bool { _, ok := v.(*undefined); return ok }),
		"none":      isKind(func(v Value) bool { return v == nil }),
		"boolean":   isKind(func(v Value) bool { _, ok := v.(bool); return ok }),
		"true":      isKind(func(v Value) bool { b, ok := v.(bool); return ok && b }),
		"false":     isKind(func(v Value) bool { b, ok := v.(bool); return ok && !b }),
		"integer": isKind(func(v Value) bool {
			switch v.(type) {
			case int64, *big.Int:
				return true
			}
			return false
		}),
		"float":   isKind(func(v Value) bool { _, ok := v.(float64); return ok }),
		"number":  isKind(func(v Value) bool { _, ok := asFloat(v); return ok }),
		"string":  isKind(func(v Value) bool { _, ok := asString(v); return ok }),
		"mapping": isKind(func(v Value) bool { _, ok := v.(*Object); return ok }),
		"iterable": {fn: func(r *run, v Value, a []Value) Value {
			return r.iterator(v) != nil
		}},
		"sequence": isKind(func(v Value) bool {
			if _, ok := v.(dictView); ok {
				return false
			}
			_, ok := length(v)
			return ok
		}),
		"callable": isKind(func(v Value) bool {
			switch v.(type) {
			case *function, *macro, *loop, *joiner, *undefined:
				return true
			}
			return false
		}),
		"sameas": {params: []string{"other"}, fn: func(r *run, v Value, a []Value) Value {
			return typeName(v) == typeName(a[0]) && r.equal(v, a[0])
		}},
		"escaped": isKind(func(v Value) bool { _, ok := v.(markup); return ok }),
		"filter":  isKind(func(v Value) bool { s, ok := asString(v); _, known := filters[s]; return ok && known }),
		"test":    isKind(func(v Value) bool { s, ok := asString(v); _, known := tests[s]; return ok && known }),
		"lower":   caseTest(false),
		"upper":   caseTest(true),
		"odd":     remainder(2, 1),
		"even":    remainder(2, 0),
		"divisibleby": {params: []string{"num"}, fn: func(r *run, v Value, a []Value) Value {
			return r.equal(r.arith("%", v, a[0]), int64(0))
		}},
		"in": {params: []string{"seq"}, fn: func(r *run, v Value, a []Value) Value { return r.contains(a[0], v) }},
		"eq": comparison("=="), "ne": comparison("!="), "lt": comparison("<"),
		"le": comparison("<="), "gt": comparison(">"), "ge": comparison(">="),
	}
	for alias, name := range map[string]string{
		"==": "eq", "equalto": "eq", "!=": "ne", "<": "lt", "lessthan": "lt", "<=": "le",
		">": "gt", "greaterthan": "gt", ">=": "ge",
	} {
		tests[alias] = tests[name]
	}
}
