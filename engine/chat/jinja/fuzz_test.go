package jinja

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Any text compiles or is refused, and any template that compiles ends within its budgets, without a panic.
func FuzzRender(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.jinja")
	if err != nil || len(paths) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, p := range paths {
		src, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	for _, s := range []string{
		"{{ x[1:2:-1] ~ (y|default('z')) }}", "{% for a, b in x.items() if a is string recursive %}{{ loop(b) }}{% else %}{% break %}{% endfor %}",
		"{% macro f(a, b=1) %}{{ caller(a) }}{{ varargs }}{{ kwargs }}{% endmacro %}{% call(q) f(*x, **y) %}{{ q }}{% endcall %}",
		"{{ '%s %(a)05.2f' % y }}{{ '{0!r:>{1}}'.format(1, 2) }}", "{{ x|map('upper')|select('odd')|groupby('a')|batch(2)|tojson(indent=1) }}",
		"{% set ns = namespace(a=1) %}{% set ns.a %}{% filter upper %}t{% endfilter %}{% endset %}{{ ns.a ** 2 // -3 % 0.5 }}",
		"{%- raw -%}{{ {%- endraw +%}{#- c -#}", `{{ "\x41\u0042\ud83d\ude00\101" 'b' }}{{ 0x1F_f + 1_0.5e-3 }}`,
	} {
		f.Add(s)
	}
	vars, err := FromJSON([]byte(`{"x":[1,"a",[2.5,null]],"y":{"a":1,"b":{"c":"dé"}},"messages":[{"role":"user","content":"hi"}],"n":18446744073709551616}`))
	if err != nil {
		f.Fatal(err)
	}
	limits := Limits{Steps: 20000, Depth: 50, Output: 1 << 16, Time: 5 * time.Second}
	f.Fuzz(func(t *testing.T, src string) {
		tmpl, err := Compile(src)
		if err != nil {
			return
		}
		began := time.Now()
		out, err := tmpl.Render(vars.(*Object), limits)
		if err == nil && len(out) > limits.Output {
			t.Errorf("%d bytes of text, over the budget", len(out))
		}
		if d := time.Since(began); d > 4*time.Second {
			t.Errorf("took %v", d)
		}
	})
}

// What FromJSON reads, tojson writes so that it reads the same again.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[1.0,-0,1e300,18446744073709551616,"\u2028\ud83d\ude00\n"],"b":null}`, `[]`, `{}`, `"x"`, `[[[true]]]`} {
		f.Add([]byte(s))
	}
	tmpl, err := Compile("{{ v|tojson }}")
	if err != nil {
		f.Fatal(err)
	}
	write := func(v Value) (string, error) {
		vars := NewObject()
		vars.Set("v", v)
		return tmpl.Render(vars, Limits{})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := FromJSON(data)
		if err != nil {
			return
		}
		once, err := write(v)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(once)) && !hasInfinity(v) {
			t.Fatalf("%q gave invalid %q", data, once)
		}
		again, err := FromJSON([]byte(once))
		if err != nil {
			if hasInfinity(v) {
				return
			}
			t.Fatal(err)
		}
		if twice, err := write(again); err != nil || twice != once {
			t.Fatalf("%q then %q, %v", once, twice, err)
		}
	})
}

// hasInfinity tells whether v holds a float that JSON can't write; Python reads 1e400 so too.
func hasInfinity(v Value) bool {
	switch v := v.(type) {
	case float64:
		return math.IsInf(v, 0)
	case *List:
		for _, e := range v.items {
			if hasInfinity(e) {
				return true
			}
		}
	case *Object:
		for _, e := range v.vals {
			if hasInfinity(e) {
				return true
			}
		}
	}
	return false
}
