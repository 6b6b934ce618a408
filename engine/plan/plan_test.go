package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ingot/engine/arch"
	"ingot/engine/arch/archtest"
	"ingot/engine/gguf"
	"ingot/engine/graph"
	"ingot/engine/tensor"
)

var update = flag.Bool("update", false, "write testdata again")

// build is the graph of a tiny model whose optional weights are absent where leave says so.
func build(t *testing.T, name string, leave func(*graph.Weight) bool) *graph.Graph {
	t.Helper()
	return buildOf(t, archtest.Meta(name), leave)
}

// buildOf is the graph of a model with that metadata.
func buildOf(t *testing.T, meta *gguf.Meta, leave func(*graph.Weight) bool) *graph.Graph {
	t.Helper()
	m, err := arch.New(meta, archtest.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range m.Common().Weights {
		w.Absent = leave(w)
	}
	b := graph.NewBuilder()
	m.Forward(b)
	return b.Graph()
}

// bare leaves out all that may be left out.
func bare(w *graph.Weight) bool { return w.Optional }

func full(*graph.Weight) bool { return false }

func quantRow(cols int) int64 { return int64(cols+127) / 64 * 64 }

// types gives matrices a type.
func types(t tensor.Type) func(*graph.Weight) tensor.Type {
	return func(w *graph.Weight) tensor.Type {
		if len(w.Shape) > 1 {
			return t
		}
		return tensor.F32
	}
}

// mixed quantizes every other matrix, so that products of both kinds read the same activation.
func mixed(w *graph.Weight) tensor.Type {
	if w.ID%2 == 0 {
		return tensor.F16
	}
	return types(tensor.Q8_0)(w)
}

func TestEveryInputHoldsItsValue(t *testing.T) {
	keeps := map[string]func(*graph.Value) bool{
		"nothing":  nil,
		"layers":   func(v *graph.Value) bool { return v.Name == graph.LayerOut },
		"products": func(v *graph.Value) bool { return v.Name == graph.AttnOut || v.Name == graph.FFNOut },
		"all":      func(*graph.Value) bool { return true },
	}
	for _, name := range archtest.Names() {
		for typeName, typ := range map[string]func(*graph.Weight) tensor.Type{"f16": types(tensor.F16), "q8_0": types(tensor.Q8_0), "mixed": mixed} {
			for kept, keep := range keeps {
				for _, c := range []struct {
					rows, outs int
					gated      bool
					leave      func(*graph.Weight) bool
				}{{1, 1, true, bare}, {2, 1, false, full}, {3, 3, false, bare}, {5, 2, true, full}} {
					if testing.Short() && kept != "nothing" {
						continue
					}
					t.Run(fmt.Sprintf("%s %s keeping %s %dx%d", name, typeName, kept, c.rows, c.outs), func(t *testing.T) {
						g := build(t, name, c.leave)
						p, err := Make(g, typ, Options{Rows: c.rows, Outs: c.outs, QuantRow: quantRow, Keep: keep, Gated: c.gated})
						if err != nil {
							t.Fatal(err)
						}
						verify(t, g, p, typ)
						want := 0
						for _, v := range g.Values {
							if keep != nil && keep(v) {
								want++
							}
						}
						if len(p.Kept) != want {
							t.Errorf("%d values are kept, %d were asked for", len(p.Kept), want)
						}
					})
				}
			}
		}
	}
}

// Graphs that no architecture has, for what the planner must not get wrong.
func TestAwkwardGraphs(t *testing.T) {
	w := func(id int, name string, shape ...int64) *graph.Weight {
		return &graph.Weight{ID: id, Name: name, Shape: shape}
	}
	square := func(id int) *graph.Weight { return w(id, fmt.Sprintf("w%d", id), 64, 64) }
	rope := &graph.Rope{Dims: 16, Base: 10000}
	for name, middle := range map[string]func(b *graph.Builder, x *graph.Value) *graph.Value{
		"a product adds its own input": func(b *graph.Builder, x *graph.Value) *graph.Value {
			return b.Add(b.Linear(x, square(1), nil), x)
		},
		"both sides of a sum are products": func(b *graph.Builder, x *graph.Value) *graph.Value {
			return b.Add(b.Linear(x, square(1), nil), b.Linear(x, square(2), nil))
		},
		"a product comes second": func(b *graph.Builder, x *graph.Value) *graph.Value {
			return b.Add(x, b.Linear(x, square(1), nil))
		},
		"a sum of one value": func(b *graph.Builder, x *graph.Value) *graph.Value {
			y := b.Linear(x, square(1), nil)
			return b.Add(y, y)
		},
		"a product is read twice": func(b *graph.Builder, x *graph.Value) *graph.Value {
			y := b.Linear(x, square(1), nil)
			return b.Add(b.Add(y, x), y)
		},
		"what is added is made after the product": func(b *graph.Builder, x *graph.Value) *graph.Value {
			y := b.Linear(x, square(1), nil)
			return b.Add(y, b.Norm(x, nil, 1e-6))
		},
		"a value is quantized, turned in place and quantized again": func(b *graph.Builder, x *graph.Value) *graph.Value {
			n := b.Norm(x, nil, 1e-6)
			y := b.Linear(n, square(1), nil)
			n = b.Rotate(n, rope)
			return b.Add(b.Linear(n, square(2), nil), y)
		},
		"what is added turns between product and sum": func(b *graph.Builder, x *graph.Value) *graph.Value {
			n := b.Norm(x, nil, 1e-6)
			y := b.Linear(x, square(1), nil)
			return b.Add(y, b.Rotate(n, rope))
		},
		"two views of one value are quantized": func(b *graph.Builder, x *graph.Value) *graph.Value {
			y := b.Linear(x, w(1, "w1", 64, 128), nil)
			left, right := b.Heads(y, 0, 1, 64, 64), b.Heads(y, 64, 1, 64, 64)
			return b.Add(b.Linear(left, square(2), nil), b.Linear(right, square(3), nil))
		},
		"a gated unit": func(b *graph.Builder, x *graph.Value) *graph.Value {
			return b.GLU(b.Linear(x, square(1), nil), b.Linear(x, square(2), nil), graph.SiLU)
		},
		"a gated unit of halves": func(b *graph.Builder, x *graph.Value) *graph.Value {
			y := b.Linear(x, w(1, "w1", 64, 128), nil)
			return b.GLU(b.Heads(y, 0, 1, 64, 64), b.Heads(y, 64, 1, 64, 64), graph.SiLU)
		},
		"a gate is read elsewhere": func(b *graph.Builder, x *graph.Value) *graph.Value {
			y := b.Linear(x, square(1), nil)
			return b.Add(b.GLU(y, b.Linear(x, square(2), nil), graph.SiLU), y)
		},
		"one half of a gated unit has a bias": func(b *graph.Builder, x *graph.Value) *graph.Value {
			return b.GLU(b.Linear(x, square(1), nil), b.Linear(x, square(2), w(3, "bias", 64)), graph.SiLU)
		},
		"the halves of a gated unit read two values": func(b *graph.Builder, x *graph.Value) *graph.Value {
			return b.GLU(b.Linear(x, square(1), nil), b.Linear(b.Norm(x, nil, 1e-6), square(2), nil), graph.SiLU)
		},
		"what a gated unit reads turns between": func(b *graph.Builder, x *graph.Value) *graph.Value {
			n := b.Norm(x, nil, 1e-6)
			y := b.Linear(n, square(1), nil)
			n = b.Rotate(n, rope)
			return b.GLU(y, b.Linear(n, square(2), nil), graph.SiLU)
		},
		"what a gated unit read turns after": func(b *graph.Builder, x *graph.Value) *graph.Value {
			n := b.Norm(x, nil, 1e-6)
			y, z := b.Linear(n, square(1), nil), b.Linear(n, square(2), nil)
			n = b.Rotate(n, rope)
			return b.Add(b.GLU(y, z, graph.SiLU), n)
		},
		"a half of a gated unit adds": func(b *graph.Builder, x *graph.Value) *graph.Value {
			return b.GLU(b.Add(b.Linear(x, square(1), nil), x), b.Linear(x, square(2), nil), graph.SiLU)
		},
		"a gate is its own other half": func(b *graph.Builder, x *graph.Value) *graph.Value {
			y := b.Linear(x, square(1), nil)
			return b.GLU(y, y, graph.SiLU)
		},
	} {
		for typeName, typ := range map[string]func(*graph.Weight) tensor.Type{"f16": types(tensor.F16), "q8_0": types(tensor.Q8_0)} {
			t.Run(name+" "+typeName, func(t *testing.T) {
				b := graph.NewBuilder()
				x := middle(b, b.Embed(w(0, "embed", 64, 10), 1))
				b.Head(x, w(8, "norm", 64), w(9, "head", 64, 10), nil, 1e-6, 1, 5)
				p, err := Make(b.Graph(), typ, Options{Rows: 3, Outs: 2, QuantRow: quantRow, Gated: true})
				if err != nil {
					t.Fatal(err)
				}
				verify(t, b.Graph(), p, typ)
			})
		}
	}
}

func TestPlansAsText(t *testing.T) {
	for _, c := range []struct {
		name  string
		typ   tensor.Type
		leave func(*graph.Weight) bool
		gated bool
	}{{"llama", tensor.F16, full, false}, {"qwen35", tensor.Q8_0, bare, false}, {"qwen35moe", tensor.Q8_0, bare, true}} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Make(build(t, c.name, c.leave), types(c.typ), Options{Rows: 4, Outs: 2, QuantRow: quantRow, Gated: c.gated})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", c.name+".txt")
			got := p.String()
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range max(len(g), len(w)) {
				if i >= len(g) || i >= len(w) || g[i] != w[i] {
					t.Fatalf("line %d differs from %s (go test -update writes it again):\n got %q\nwant %q", i+1, path, at(g, i), at(w, i))
				}
			}
		})
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// TestFineActivations: all products of quantized weights up to the last router read 16 bits a value, on one lane and on several, and
// the head, which no router follows, reads 8.
func TestFineActivations(t *testing.T) {
	for _, name := range archtest.Names() {
		g := build(t, name, full)
		routes := slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Op.Name() == graph.Route{}.Name() })
		one, err := Make(g, types(tensor.Q8_0), Options{Rows: 3, Outs: 1, QuantRow: quantRow})
		if err != nil {
			t.Fatal(err)
		}
		two, err := Divide(g, types(tensor.Q8_0), Options{Rows: 3, Outs: 1}, divided{cards: 2}.spread(true))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range append(two.plans()[0], one) {
			heads := 0
			for i := range p.Steps {
				s := &p.Steps[i]
				_, quantizes := s.Op.(Quantize)
				reads := quantizes || s.Matrices() > 0 && Quantized(types(tensor.Q8_0)(s.W[0]))
				head := s.Layer < 0 && s.Rows == graph.OutRows
				if want := reads && routes && !head; s.Fine != want {
					t.Errorf("%s, lane %d: %s of layer %d: fine %v, want %v", name, p.Lane, s.Op.Name(), s.Layer, s.Fine, want)
				}
				if head && s.Matrices() > 0 {
					heads++
				}
			}
			if heads != 1 {
				t.Errorf("%s, lane %d: %d heads", name, p.Lane, heads)
			}
		}
	}
}

func TestEqualGraphsGiveEqualPlans(t *testing.T) {
	for _, name := range archtest.Names() {
		var first string
		for range 5 {
			p, err := Make(build(t, name, full), mixed, Options{Rows: 7, Outs: 3, QuantRow: quantRow})
			if err != nil {
				t.Fatal(err)
			}
			if s := p.String(); first == "" {
				first = s
			} else if s != first {
				t.Fatalf("%s: two plans differ", name)
			}
		}
	}
}

func TestMemoryIsReused(t *testing.T) {
	for _, name := range archtest.Names() {
		g := build(t, name, bare)
		p, err := Make(g, types(tensor.Q8_0), Options{Rows: 16, Outs: 1, QuantRow: quantRow})
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, v := range g.Values {
			sum += p.rows(v) * int64(v.Cols) * 4
		}
		t.Logf("%-9s arena %6d bytes, values %7d", name, p.Arena, sum)
		if p.Arena*4 > sum {
			t.Errorf("%s: the arena takes %d bytes, all values %d", name, p.Arena, sum)
		}
	}
}

func TestArena(t *testing.T) {
	var a arena
	x, y, z := a.take(100), a.take(64), a.take(1)
	if x != (span{0, 128}) || y != (span{128, 64}) || z != (span{192, 64}) || a.top != 256 {
		t.Fatal(x, y, z, a.top)
	}
	a.give(y)
	if got := a.take(65); got.off != 256 {
		t.Errorf("a gap of 64 was given for 65 bytes: %v", got)
	}
	a.give(x)
	if got := a.take(192); got != (span{0, 192}) || len(a.free) != 0 {
		t.Errorf("neighbours were not joined: %v, free %v", got, a.free)
	}
	a.give(span{256, 128})
	if got := a.take(200); got.off != 256 || a.top != 512 {
		t.Errorf("the free end did not grow: %v, top %d", got, a.top)
	}
}

func TestMakeWantsRows(t *testing.T) {
	for _, o := range []Options{{Rows: 0, Outs: 1}, {Rows: 1, Outs: 0}} {
		if _, err := Make(build(t, "llama", bare), types(tensor.F16), o); err == nil {
			t.Errorf("%+v gave a plan", o)
		}
	}
}
