package jinja

// Filters that cut a sequence into groups.

func batch(r *run, v Value, a []Value) Value {
	n := r.wantInt(a[0], 1)
	next := r.iterate(v, "'%s' object is not iterable")
	done := false
	var held Value
	holds := false
	return &generator{"generator", func() (Value, bool) {
		defer r.enterLazy()()
		var row []Value
		if holds {
			row, holds = append(row, held), false
		}
		for !done {
			e, ok := next()
			if !ok {
				done = true
				break
			}
			r.alloc(itemSize)
			if int64(len(row)) == n {
				held, holds = e, true
				return &List{row}, true
			}
			row = append(row, e)
		}
		if len(row) == 0 {
			return nil, false
		}
		if fill := a[1]; fill != missing && fill != nil && int64(len(row)) < n {
			r.alloc(min(n, r.maxMemory) * itemSize)
			for int64(len(row)) < n {
				row = append(row, fill)
			}
		}
		return &List{row}, true
	}}
}

func sliceFilter(r *run, v Value, a []Value) Value {
	items := r.items(v)
	n := r.wantInt(a[0], 1)
	if n == 0 {
		r.fail("ZeroDivisionError", "integer division or modulo by zero")
	}
	if n < 0 {
		return r.list(nil)
	}
	each, extra := int64(len(items))/n, int64(len(items))%n
	i, at := int64(0), int64(0)
	return &generator{"generator", func() (Value, bool) {
		r.step()
		if i >= n {
			return nil, false
		}
		size := each
		if i < extra {
			size++
		}
		row := append([]Value(nil), items[at:at+size]...)
		at += size
		if fill := a[1]; fill != missing && fill != nil && i >= extra {
			row = append(row, fill)
		}
		i++
		return r.list(row), true
	}}
}

func groupBy(r *run, v Value, a []Value) Value {
	def := a[1]
	if def == missing {
		def = nil
	}
	get := r.getter(a[0], def)
	fold := r.keyFunc(nil, a[2], false)
	key := func(v Value) Value { return fold(get(v)) }
	var groups []Value
	var group *List
	var last Value
	for _, e := range r.sorted(r.items(v), key, false) {
		k := key(e)
		if group == nil || !r.equal(k, last) {
			group, last = r.list(nil), k
			r.alloc(3 * itemSize)
			groups = append(groups, Tuple{get(e), group})
		}
		group.items = append(group.items, e)
	}
	return r.list(groups)
}
