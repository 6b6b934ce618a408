package jinja

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// Templates that would run for ever, or take all memory or stack, each ended by the budget that it exceeds.
func TestHostileTemplates(t *testing.T) {
	nested := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, c := range []struct{ name, source, budget string }{
		{"nested loops", nested(6, "{% for i in range(99999) %}", "", "{% endfor %}"), "steps"},
		{"loops that write", nested(3, "{% for i in range(99999) %}", strings.Repeat("text", 1000), "{% endfor %}"), "output"},
		{"macro calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "depth"},
		{"macros call each other", "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}", "depth"},
		{"macro in a deep expression calls itself",
			"{% macro f() %}" + nested(40, "{% if 1 %}{% for i in 'a' %}", "{{ "+nested(40, "(1 and [", "f()", "])")+" }}", "{% endfor %}{% endif %}") + "{% endmacro %}{{ f() }}", "depth"},
		{"caller calls itself", "{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}", "depth"},
		{"default calls itself", "{% macro f(x=f()) %}{% endmacro %}{{ f() }}", "depth"},
		{"recursive loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "depth"},
		{"namespace holds itself", "{% set n = namespace() %}{% set n.n = n %}{{ n }}", "depth"},
		{"list grows deep", "{% set n = namespace(l=[]) %}{% for i in range(999) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l }}", "depth"},
		{"deep lists compared", "{% set n = namespace(l=[],m=[]) %}{% for i in range(999) %}{% set n.l = [n.l] %}{% set n.m = [n.m] %}{% endfor %}{{ n.l == n.m }}", "depth"},
		{"deep lists ordered", "{% set n = namespace(l=[],m=[]) %}{% for i in range(999) %}{% set n.l = [n.l] %}{% set n.m = [n.m] %}{% endfor %}{{ n.l < n.m }}", "depth"},
		{"deep list dumped", "{% set n = namespace(l=[]) %}{% for i in range(999) %}{% set n.l = [n.l] %}{% endfor %}{{ n.l|tojson }}", "depth"},
		{"wide list printed", "{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l }}", "steps"},
		{"wide list dumped", "{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l|tojson|length }}", "steps"},
		{"wide lists compared", "{% set n = namespace(l=[1],m=[1]) %}{% for i in range(99) %}{% set n.l = [n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% endfor %}{{ n.l == n.m }}", "steps"},
		{"wide tuple as a key", "{% set n = namespace(t=(1,)) %}{% for i in range(99) %}{% set n.t = (n.t, n.t) %}{% endfor %}{{ {n.t: 1} }}", "memory"},
		{"iterators stacked", "{% set n = namespace(g=[1]) %}{% for i in range(999) %}{% set n.g = n.g|map('int') %}{% endfor %}{{ n.g|list }}", "depth"},
		{"batches stacked", "{% set n = namespace(g=[1]) %}{% for i in range(999) %}{% set n.g = n.g|batch(1) %}{% endfor %}{{ n.g|list }}", "depth"},
		{"string doubled", "{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}", "memory"},
		{"string grown", "{% set n = namespace(s='') %}{% for i in range(99999) %}{% set n.s = n.s + 'xxxxxxxxxxxxxxxxxxxx' %}{% endfor %}", "memory"},
		{"list grown", "{% set n = namespace(l=[]) %}{% for i in range(99999) %}{% set n.l = n.l + [i] %}{% endfor %}", "memory"},
		{"strings kept", "{% set n = namespace(l=[]) %}{% for i in range(99999) %}{% set n.l = [n.l, 'x' * 100000] %}{% endfor %}", "memory"},
		{"text captured", "{% set n = namespace(s='x' * 100000) %}{% for i in range(99999) %}{% set x %}{{ n.s }}{% endset %}{% endfor %}", "memory"},
		{"string repeated", "{{ 'x' * 10**12 }}", "memory"},
		{"string repeated by a number", "{{ 9223372036854775807 * 'xx' }}", "memory"},
		{"list repeated", "{{ [1] * 10**12 }}", "memory"},
		{"tuple repeated", "{{ (1, 2) * 10**12 }}", "memory"},
		{"printf width", "{{ '%2000000000d' % 1 }}", "memory"},
		{"printf star width", "{{ '%*d' % (10**12, 1) }}", "memory"},
		{"printf precision", "{{ '%.2000000000f' % 1 }}", "memory"},
		{"printf integer precision", "{{ '%.2000000000d' % 1 }}", "memory"},
		{"format width", "{{ '{:>2000000000}'.format(1) }}", "memory"},
		{"format precision", "{{ '{:.2000000000f}'.format(1) }}", "memory"},
		{"center", "{{ 'a'.center(10**12) }}", "memory"},
		{"center just over", "{{ 'a'.center(10**9) }}", "memory"},
		{"ljust at the budget", "{{ 'a'.ljust(268435456) }}", "memory"},
		{"center filter", "{{ 'a'|center(10**12) }}", "memory"},
		{"ljust", "{{ 'a'.ljust(10**12) }}", "memory"},
		{"zfill", "{{ 'a'.zfill(10**12) }}", "memory"},
		{"expandtabs", "{{ '\\t'.expandtabs(10**12) }}", "memory"},
		{"indent", "{{ 'a\\nb'|indent(10**12) }}", "memory"},
		{"indent many lines", "{{ ('a\\n' * 100000)|indent(100000) }}", "memory"},
		{"tojson indent", "{{ [1]|tojson(indent=10**12) }}", "memory"},
		{"batch fill", "{{ [1]|batch(10**12, 'x')|list }}", "memory"},
		{"slices", "{{ [1]|slice(10**12, 'x')|list }}", "memory"},
		{"replace of nothing", "{{ ('x' * 1000000)|replace('', 'y' * 1000000) }}", "memory"},
		{"join", "{{ range(99999)|join('x' * 100000) }}", "memory"},
		{"join method", "{{ ('x' * 100000).join('y' * 100000) }}", "memory"},
		{"split", "{% set s = 'x,' * 1000000 %}{% for i in range(99) %}{% set l = s.split(',') %}{% endfor %}", "memory"},
		{"strip of many", "{% set s = 'xy' * 100000 %}{% for i in range(99999) %}{% set t = s.strip(s) %}{% endfor %}", "steps"},
		{"search", "{% set s = 'x' * 1000000 %}{% for i in range(99999) %}{% set t = 'y' in s %}{% endfor %}", "steps"},
		{"index of the last character", "{% set s = 'é' * 1000000 %}{% for i in range(99999) %}{% set t = s[-1] %}{% endfor %}", "steps"},
		{"search in a list", "{% set s = [1] * 100000 %}{% for i in range(99999) %}{% set t = 2 in s %}{% endfor %}", "steps"},
		{"sort", "{% set s = range(99999)|list %}{% for i in range(999) %}{% set t = s|sort(reverse=true) %}{% endfor %}", "steps"},
		{"dict of many", "{% set n = namespace(d={}) %}{% for i in range(99999) %}{% set n.d = dict(n.d, **{'k' ~ i: 1}) %}{% endfor %}", "memory"},
		{"many arguments", "{% macro f() %}{{ varargs|length }}{% endmacro %}{% for i in range(99999) %}{{ f(*range(99999)) }}{% endfor %}", "steps"},
	} {
		limits := Limits{Steps: 1_000_000, Output: 4 << 20, Time: time.Minute}
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := Compile(c.source)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = tmpl.Render(nil, limits)
			var limit *LimitError
			if !errors.As(err, &limit) || limit.Budget != c.budget {
				t.Errorf("got %v, want the %s budget to end it", err, c.budget)
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// What Python's sandbox or arithmetic refuses is refused as quickly here.
func TestHostileValues(t *testing.T) {
	for source, kind := range map[string]string{
		"{{ range(10**10) }}":                        "OverflowError",
		"{{ range(0-10**18, 10**18) }}":              "OverflowError",
		"{{ range(10**30) }}":                        "OverflowError",
		"{{ 'x' * 10**30 }}":                         "OverflowError",
		"{{ 9**(9**9) }}":                            "OverflowError",
		"{{ 10**100000 }}":                           "OverflowError",
		"{{ 2.0**100000 }}":                          "OverflowError",
		"{{ [].append(1) }}":                         "SecurityError",
		"{{ {}.update({}) }}":                        "SecurityError",
		"{{ ''.__class__.__mro__ }}":                 "SecurityError",
		"{{ '{0.__class__.__mro__}'.format('') }}":   "SecurityError",
		"{% set n = 5 %}{% set n.x = 1 %}":           "TemplateRuntimeError",
		"{{ '%99999999999d' % 1 }}":                  "ValueError",
		"{{ '{:99999999999}'.format(1) }}":           "ValueError",
		"{{ 1 // 0 }}":                               "ZeroDivisionError",
		"{{ -9223372036854775808 // -1 % 0 }}":       "ZeroDivisionError",
		"{{ 'a'.nothing() }}":                        "UndefinedError",
		"{% for x in 5 %}{% endfor %}":               "TypeError",
		"{{ {[]: 1} }}":                              "TypeError",
		"{{ '{a[0}'.format(a=1) }}":                  "ValueError",
		"{{ cycler() }}":                             "RuntimeError",
		"{% macro f(a) %}{% endmacro %}{{ f(1,2) }}": "TypeError",
	} {
		tmpl, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		_, err = tmpl.Render(nil, Limits{})
		if got, _ := classify(err); got != kind {
			t.Errorf("%s: got %v, want %s", source, err, kind)
		}
	}
}

// Sources that nest without end are refused with a line, never by the stack; long ones that do not nest compile.
func TestHostileSources(t *testing.T) {
	const n = 5000
	rep := strings.Repeat
	for name, source := range map[string]string{
		"parentheses":  "{{ " + rep("(", n) + rep(")", n) + " }}",
		"lists":        "{{ " + rep("[", n) + rep("]", n) + " }}",
		"dicts":        "{{ " + rep("{1:", n) + "1" + rep("}", n) + " }}",
		"calls":        "{{ " + rep("f(", n) + rep(")", n) + " }}",
		"subscripts":   "{{ a" + rep("[a", n) + rep("]", n) + " }}",
		"attributes":   "{{ a" + rep(".a", n) + " }}",
		"filters":      "{{ a" + rep("|e", n) + " }}",
		"calls in row": "{{ a" + rep("()", n) + " }}",
		"tests":        "{{ a" + rep(" is defined == a", n) + " is a" + rep("(1)", n) + " }}",
		"signs":        "{{ " + rep("-", n) + "1 }}",
		"inline ifs":   "{{ " + rep("a if b else ", n) + "c }}",
		"ifs in row":   "{{ a" + rep(" if b", n) + " }}",
		"if blocks":    rep("{% if 1 %}", n) + rep("{% endif %}", n),
		"for blocks":   rep("{% for a in b %}", n) + rep("{% endfor %}", n),
		"macros":       rep("{% macro a() %}", n) + rep("{% endmacro %}", n),
		"targets":      "{% set " + rep("(", n) + "a" + rep(")", n) + " = 1 %}",
		"unclosed":     rep("{% if 1 %}", n),
		"open":         "{{ " + rep("(", n),
		"comment":      rep("{#", n),
		"raw":          rep("{% raw %}", n),
		"half tags":    rep("{", n) + "%",
		"string":       "{{ '" + rep(`\'`, n),
		"bad escape":   "{{ '" + rep(`\x`, n) + "' }}",
		"long number":  "{{ " + rep("9", n) + " }}",
	} {
		began := time.Now()
		_, err := Compile(source)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line < 1 {
			t.Errorf("%s: got %v, want a syntax error with its line", name, err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
	for name, source := range map[string]string{
		"sum":       "{{ 1" + rep(" + 1", n) + " }}",
		"product":   "{{ 1" + rep(" * 1", n) + " }}",
		"concat":    "{{ 1" + rep(" ~ 1", n) + " }}",
		"and":       "{{ 1" + rep(" and 1", n) + " }}",
		"not":       "{{ " + rep("not ", n) + " 1 }}",
		"compare":   "{{ 1" + rep(" == 1", n) + " }}",
		"elif":      "{% if 0 %}" + rep("{% elif 0 %}", n) + "{% endif %}",
		"strings":   "{{ " + rep("'a' ", n) + " }}",
		"list":      "{{ [" + rep("1,", n) + "]|length }}",
		"arguments": "{{ dict([" + rep("(1,2),", n) + "])|length }}",
		"names":     rep("{{ a }}", n),
		"spaces":    rep(" ", n) + "{%- if 1 %}" + rep(" ", n) + "{%- endif %}",
		"braces":    rep("{ ", n),
	} {
		tmpl, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := tmpl.Render(nil, Limits{Time: time.Minute}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Compiling takes time in proportion to the source: a template of a megabyte is a matter of a moment, and four times
// as much takes about four times as long.
func TestCompileTimeIsLinear(t *testing.T) {
	block := "{%- set x%d = messages[0].content|trim %}\n{# a comment #}\n{% if x == 'a' and not y %}\n  text {{ x ~ 'b' }}\n{% endif %}\n"
	source := func(size int) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.Replace(block, "%d", formatInt(int64(i)), 1))
		}
		return b.String()
	}
	measure := func(size int) time.Duration {
		s := source(size)
		best := time.Hour
		for range 2 {
			began := time.Now()
			if _, err := Compile(s); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	small, large := measure(1<<18), measure(1<<20)
	t.Logf("256 KiB in %v, 1 MiB in %v", small, large)
	if large > 16*small {
		t.Errorf("1 MiB took %v, 256 KiB %v", large, small)
	}
	// As many variables as that in one scope must not make rendering quadratic beyond the budget either.
	tmpl, err := Compile(source(1 << 20))
	if err != nil {
		t.Fatal(err)
	}
	vars, _ := FromJSON([]byte(`{"messages":[{"content":" a "}]}`))
	began := time.Now()
	_, err = tmpl.Render(vars.(*Object), Limits{})
	t.Logf("rendered in %v: %v", time.Since(began), err)
}

func TestTimeAndCancel(t *testing.T) {
	tmpl, err := Compile("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tmpl.Render(nil, Limits{Steps: 1 << 60, Time: 30 * time.Millisecond})
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Budget != "time" {
		t.Errorf("got %v, want the time budget", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(30*time.Millisecond, cancel)
	if _, err = tmpl.Render(nil, Limits{Steps: 1 << 60, Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// The deepest calls that limits allow, each as deep in the template as it can be, stay far from the stack's end.
func TestDeepestStack(t *testing.T) {
	deep := strings.Repeat("{% if 1 %}", 90) + "{{ " + strings.Repeat("[", 90) + "f()" + strings.Repeat("]", 90) + " }}" + strings.Repeat("{% endif %}", 90)
	tmpl, err := Compile("{% macro f() %}" + deep + "{% endmacro %}{{ f() }}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tmpl.Render(nil, Limits{Depth: 1 << 30})
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Budget != "depth" || limit.Limit != maxDepth {
		t.Errorf("got %v", err)
	}
}
