// Package arch holds every architecture against the plain meaning of its operations, at every instruction-set
// level, through the whole engine: file, plan, kernels, cache, sessions, hooks.
package arch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ingot/engine"
	models "ingot/engine/arch"
	"ingot/engine/arch/archtest"
	"ingot/engine/gguf"
	"ingot/engine/graph"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
)

// variant is a tiny model with parameters changed.
type variant struct {
	name, arch string
	set        map[string]any
	leave      func(*graph.Weight) bool
}

var mixtral = map[string]any{"llama.expert_count": uint32(4), "llama.expert_used_count": uint32(2)}

func variants() []variant {
	var vs []variant
	for _, a := range models.Names() {
		vs = append(vs, variant{name: a, arch: a}, variant{a + " without what is optional", a, nil, archtest.Without(".weight", ".bias", ".scale")})
	}
	return append(vs,
		variant{"llama with experts", "llama", mixtral, nil},
		variant{"llama, linear scaling", "llama", map[string]any{"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": float32(4)}, nil},
		variant{"qwen2, yarn", "qwen2", map[string]any{"qwen2.rope.scaling.type": "yarn", "qwen2.rope.scaling.factor": float32(4),
			"qwen2.rope.scaling.original_context_length": uint32(32)}, nil},
		variant{"qwen3, part of a head turns", "qwen3", map[string]any{"qwen3.rope.dimension_count": uint32(12)}, nil},
		variant{"qwen35, one key head a value head", "qwen35", map[string]any{"qwen35.ssm.group_count": uint32(4)}, nil},
		variant{"qwen35, all layers recurrent", "qwen35", map[string]any{"qwen35.full_attention_interval": uint32(9)}, nil},
		variant{"gpt-oss, no yarn, a window longer than the text", "gpt-oss", map[string]any{"gpt-oss.rope.scaling.type": "none",
			"gpt-oss.attention.sliding_window": uint32(64)}, nil},
		variant{"minimax-m2, softmax", "minimax-m2", map[string]any{"minimax-m2.expert_gating_func": uint32(1)}, nil},
		variant{"gemma4, gates apart", "gemma4", nil, func(w *graph.Weight) bool { return len(w.Or) > 0 }},
		variant{"gemma4, dense", "gemma4", map[string]any{"gemma4.expert_count": uint32(0), "gemma4.feed_forward_length": []uint32{96, 64, 64, 128}}, nil},
		variant{"gemma4, a second embedding and shared keys", "gemma4", map[string]any{"gemma4.expert_count": uint32(0),
			"gemma4.embedding_length_per_layer_input": uint32(32), "gemma4.attention.shared_kv_layers": uint32(2)}, nil},
		variant{"qwen3, one head", "qwen3", map[string]any{"qwen3.attention.head_count": uint32(1), "qwen3.attention.head_count_kv": uint32(1)}, nil},
		variant{"llama, heads of 20", "llama", map[string]any{"llama.attention.key_length": uint32(20), "llama.attention.value_length": uint32(20),
			"llama.rope.dimension_count": uint32(20)}, nil},
	)
}

func (v *variant) meta() *gguf.Meta {
	m := archtest.Meta(v.arch)
	for key, x := range v.set {
		m.Set(key, x)
	}
	return m
}

// write makes the model's file.
func (v *variant) write(t *testing.T, typ tensor.Type) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := archtest.Write(f, v.meta(), typ, v.leave); err != nil {
		t.Fatal(err)
	}
	return path
}

// decode is a tensor's values, exactly.
func decode(t *testing.T, typ tensor.Type, b []byte, n int64) []float64 {
	t.Helper()
	out := make([]float32, n)
	if typ == tensor.F32 {
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	} else if err := cpu.Dequantize(cpu.Type(typ), b, out); err != nil {
		t.Fatal(err)
	}
	wide := make([]float64, n)
	for i, x := range out {
		wide[i] = float64(x)
	}
	return wide
}

// meaning computes the model plainly.
func (v *variant) meaning(t *testing.T, typ tensor.Type, tokens []int32) (*plain, *graph.Graph, [][]float64) {
	t.Helper()
	ts, err := archtest.Tensors(v.meta(), typ, v.leave)
	if err != nil {
		t.Fatal(err)
	}
	p := &plain{weights: map[string][]float64{}, packed: map[string]bool{}, tokens: tokens}
	for _, w := range ts {
		n, _ := tensor.Elements(w.Shape)
		p.weights[w.Name] = decode(t, w.Type, w.Data, n)
		p.packed[w.Name] = w.Type.Quantized()
	}
	model, err := models.New(v.meta(), archtest.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range model.Common().Weights {
		_, there := p.weights[w.Name]
		w.Absent = !there
	}
	b := graph.NewBuilder()
	model.Forward(b)
	return p, b.Graph(), p.run(b.Graph())
}

// read feeds tokens in pieces of n and returns every row's logits.
func read(t *testing.T, e *engine.Engine, tokens []int32, n int) [][]float32 {
	t.Helper()
	s, err := e.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out [][]float32
	for piece := range slices.Chunk(tokens, n) {
		if err := s.FeedAll(piece, func(l []float32) { out = append(out, slices.Clone(l)) }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func open(t *testing.T, path string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func text(n int) []int32 {
	r := rand.New(rand.NewPCG(9, 9))
	out := make([]int32, n)
	for i := range out {
		out[i] = r.Int32N(archtest.Vocab)
	}
	return out
}

// off is the largest difference, as a share of the spread of the logits.
func off(got [][]float32, want [][]float64) float64 {
	worst, spread := 0.0, 0.0
	for r := range want {
		for i, w := range want[r] {
			worst = math.Max(worst, math.Abs(float64(got[r][i])-w))
			spread = math.Max(spread, math.Abs(w))
			if math.IsNaN(float64(got[r][i])) {
				return math.Inf(1)
			}
		}
	}
	return worst / spread
}

func TestArchitecturesMeanWhatTheySay(t *testing.T) {
	tokens := text(24)
	for _, c := range []struct {
		typ  tensor.Type
		kv   string
		most float64 // an activation that is rounded the other way counts 1/127
	}{{tensor.F32, "f32", 2e-5}, {tensor.F16, "f32", 2e-5}, {tensor.F16, "f16", 2e-3}, {tensor.BF16, "bf16", 2e-2}, {tensor.Q8_0, "f32", 2e-2}} {
		for _, v := range variants() {
			t.Run(fmt.Sprintf("%v %s cache %s", c.typ, c.kv, v.name), func(t *testing.T) {
				p, _, want := v.meaning(t, c.typ, tokens)
				if c.kv != "f32" && p.fine {
					t.Skip("rounded keys may pick another expert")
				}
				path := v.write(t, c.typ)
				for _, level := range cpu.Levels() {
					e := open(t, path, engine.Options{Threads: 2, CacheK: c.kv, CacheV: c.kv, UBatch: 16, Level: level.String()})
					got := read(t, e, tokens, len(tokens))
					if len(got) != len(want) {
						t.Fatalf("%d rows of logits, expected %d", len(got), len(want))
					}
					if d := off(got, want); d > c.most {
						t.Errorf("%v: off by %.2g, at most %.2g is expected", level, d, c.most)
					} else {
						t.Logf("%v: off by %.2g", level, d)
					}
				}
			})
		}
	}
}

// However a text is cut into batches, and with however many threads, the bits are the same.
func TestBitsDoNotDependOnBatchesOrThreads(t *testing.T) {
	tokens := text(30)
	for _, v := range variants()[:2*len(models.Names())] {
		if v.leave != nil {
			continue
		}
		for _, typ := range []tensor.Type{tensor.F16, tensor.Q8_0} {
			t.Run(fmt.Sprintf("%v %s", typ, v.name), func(t *testing.T) {
				path := v.write(t, typ)
				for _, level := range cpu.Levels() {
					var first [][]float32
					for _, o := range []engine.Options{{Threads: 1, UBatch: 64}, {Threads: 2, UBatch: 64}, {Threads: 3, UBatch: 7}} {
						o.Level = level.String()
						e := open(t, path, o)
						for _, n := range []int{len(tokens), 1, 11} {
							got := read(t, e, tokens, n)
							if first == nil {
								first = got
							}
							for r := range got {
								if !slices.Equal(got[r], first[r]) {
									t.Fatalf("%v, %d threads, batches of %d, pieces of %d: row %d differs", level, o.Threads, o.UBatch, n, r)
								}
							}
						}
						e.Close()
					}
				}
			})
		}
	}
}

// A hook sees each value that the plain computation has, in every layer; seeing it changes no bit, but for a mixture,
// whose sum then takes the layer's input last instead of first.
func TestHooksSeeEveryValue(t *testing.T) {
	tokens := text(20)
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			p, g, _ := v.meaning(t, tensor.F32, tokens)
			path := v.write(t, tensor.F32)
			type key struct {
				layer int
				name  string
			}
			times := map[key]int{} // a name that several values of a layer share says nothing here
			for _, x := range g.Values {
				times[key{x.Layer, x.Name}]++
			}
			seen := map[key]map[int][]float32{}
			e := open(t, path, engine.Options{Threads: 2, CacheK: "f32", CacheV: "f32", UBatch: 7,
				Watch: func(int, string) bool { return true },
				Hook: func(a engine.Activation) {
					k := key{a.Layer, a.Name}
					if seen[k] == nil {
						seen[k] = map[int][]float32{}
					}
					for i, pos := range a.Positions {
						seen[k][pos] = slices.Clone(a.Rows[i])
					}
				}})
			watched := read(t, e, tokens, len(tokens))
			checked := 0
			for _, x := range g.Values {
				k := key{x.Layer, x.Name}
				if times[k] > 1 {
					continue
				}
				checked++
				for r, want := range p.vals[x] {
					got, ok := seen[k][r]
					if !ok || len(got) != len(want) {
						t.Fatalf("layer %d, %s: row %d has %d columns, expected %d", x.Layer, x.Name, r, len(got), len(want))
					}
					for i := range want {
						if math.Abs(float64(got[i])-want[i]) > 1e-4*(1+math.Abs(want[i])) {
							t.Fatalf("layer %d, %s: row %d, column %d is %v, expected %v", x.Layer, x.Name, r, i, got[i], want[i])
						}
					}
				}
			}
			if checked < 10*4 {
				t.Errorf("only %d values were checked", checked)
			}
			plainly := read(t, open(t, path, engine.Options{Threads: 2, CacheK: "f32", CacheV: "f32", UBatch: 7}), tokens, len(tokens))
			for r := range plainly {
				if !p.fine && !slices.Equal(plainly[r], watched[r]) {
					t.Fatalf("row %d of the logits differs when hooks watch", r)
				}
			}
		})
	}
}
