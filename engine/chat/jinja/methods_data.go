package jinja

import "math"

// Methods of lists, tuples, dicts and floats that do not change them.

var listMethods map[string]builtin

var dictMethods map[string]builtin

var floatMethods = map[string]builtin{
	"is_integer": {fn: func(r *run, self Value, a []Value) Value {
		f := self.(float64)
		return f == math.Trunc(f) && !math.IsInf(f, 0)
	}},
}

func init() {
	listMethods = map[string]builtin{
		"count": {params: []string{"value"}, fn: func(r *run, self Value, a []Value) Value {
			n := int64(0)
			for _, v := range listItems(self) {
				if r.equal(v, a[0]) {
					n++
				}
			}
			return n
		}},
		"index": {params: []string{"value", "start?", "stop?"}, fn: func(r *run, self Value, a []Value) Value {
			items := listItems(self)
			clamp := func(i int64) int64 {
				if i < 0 {
					i += int64(len(items))
				}
				return min(max(i, 0), int64(len(items)))
			}
			stop := clamp(r.wantInt(a[2], math.MaxInt64))
			for i := clamp(r.wantInt(a[1], 0)); i < stop; i++ {
				if r.equal(items[i], a[0]) {
					return i
				}
			}
			r.valueError("%s is not in list", r.repr(a[0]))
			return nil
		}},
		"copy": {fn: func(r *run, self Value, a []Value) Value { return self }},
	}
	dictMethods = map[string]builtin{
		"get": {params: []string{"key", "default?"}, fn: func(r *run, self Value, a []Value) Value {
			if v, ok := self.(*Object).get(r.hash(a[0])); ok {
				return v
			}
			if a[1] == missing {
				return nil
			}
			return a[1]
		}},
		"keys":   {fn: func(r *run, self Value, a []Value) Value { return dictView{self.(*Object), "keys"} }},
		"values": {fn: func(r *run, self Value, a []Value) Value { return dictView{self.(*Object), "values"} }},
		"items":  {fn: func(r *run, self Value, a []Value) Value { return dictView{self.(*Object), "items"} }},
		"copy":   {fn: func(r *run, self Value, a []Value) Value { return self }},
		"fromkeys": {params: []string{"iterable", "value?"}, fn: func(r *run, self Value, a []Value) Value {
			v := a[1]
			if v == missing {
				v = nil
			}
			o := &Object{}
			for _, k := range r.items(a[0]) {
				r.setItem(o, k, v)
			}
			return o
		}},
	}
}

func listItems(v Value) []Value {
	switch v := v.(type) {
	case *List:
		return v.items
	case Tuple:
		return v
	}
	return nil
}
