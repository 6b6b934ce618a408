package cards

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"ingot/engine/arch"
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/gguf"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
	"ingot/kernels/quant"
)

// shape is the published shape of Qwen3.5-4B; small is one that an emulated card runs in seconds.
type shape struct {
	layers, dim, ff, heads, kvHeads, headDim, keyHeads, valueHeads, state, vocab int
}

var (
	full  = shape{32, 2560, 9216, 16, 4, 256, 16, 32, 128, 248320}
	small = shape{4, 256, 512, 4, 2, 64, 2, 4, 32, 512}
)

// synthetic is a model of a shape whose weights repeat a piece of random ones: as large as the real one, made in seconds. A few of its
// matrices have the type more, as quantizing a file leaves them.
func synthetic(t testing.TB, s shape, typ, more tensor.Type) *model {
	t.Helper()
	m := gguf.NewMeta()
	m.Set("general.architecture", "qwen35")
	m.Set("tokenizer.ggml.model", "no_vocab")
	for k, v := range map[string]int{
		"block_count": s.layers, "context_length": 4096, "embedding_length": s.dim, "feed_forward_length": s.ff, "attention.head_count": s.heads,
		"attention.head_count_kv": s.kvHeads, "attention.key_length": s.headDim, "attention.value_length": s.headDim, "vocab_size": s.vocab,
		"rope.dimension_count": s.headDim / 4, "full_attention_interval": 4, "ssm.conv_kernel": 4, "ssm.state_size": s.state,
		"ssm.group_count": s.keyHeads, "ssm.time_step_rank": s.valueHeads, "ssm.inner_size": s.valueHeads * s.state,
	} {
		m.Set("qwen35."+k, uint32(v))
	}
	m.Set("qwen35.attention.layer_norm_rms_epsilon", float32(1e-6))
	m.Set("qwen35.rope.freq_base", float32(1e7))
	a, err := arch.New(m, s.vocab)
	if err != nil {
		t.Fatal(err)
	}
	x := &model{name: "qwen35", arch: a, weights: make([]device.Weight, len(a.Common().Weights))}
	pieces := map[tensor.Type][]byte{}
	for i, w := range a.Common().Weights {
		if w.Tied != nil {
			w.Absent = true
			continue
		}
		of := typ
		switch {
		case len(w.Shape) < 2 || w.Shape[0]%256 != 0:
			of = tensor.F32
		case w.Name == "token_embd.weight" || strings.Contains(w.Name, "ffn_down") && i%2 == 0:
			of = more
		}
		n, err := tensor.Bytes(of, w.Shape)
		if err != nil {
			t.Fatal(err)
		}
		if pieces[of] == nil {
			pieces[of] = piece(t, of)
		}
		data := make([]byte, n)
		for at := 0; at < len(data); {
			at += copy(data[at:], pieces[of])
		}
		if of == tensor.F32 {
			v := unsafe.Slice((*float32)(unsafe.Pointer(&data[0])), n/4)
			for j := range v {
				switch {
				case strings.HasSuffix(w.Name, "norm.weight"):
					v[j] = 1
				case strings.HasSuffix(w.Name, "ssm_a"):
					v[j] = -1
				}
			}
		}
		x.weights[w.ID] = device.Weight{Type: of, Data: data}
	}
	return x
}

// piece is 64 rows of 256 random weights, as large as keeps a product's results near its inputs.
func piece(t testing.TB, of tensor.Type) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, 64*256*101) // no multiple of a usual row: neighbours differ
	for i := range v {
		v[i] = float32(r.NormFloat64() / 50)
	}
	b := make([]byte, int64(len(v)/of.Block())*int64(of.Size()))
	if of == tensor.F32 {
		copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(b)))
	} else if err := quant.Encode(cpu.Detect(), cpu.Type(of), v, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// Decode and prefill of a model of 4B parameters (INGOT_TEST_SHAPE=small: of a tiny one), as tokens a second, and as shares of what the
// card can do where GPU_BANDWIDTH (GB/s) and GPU_TFLOPS (bf16) say that.
func BenchmarkSpeed(b *testing.B) {
	s, prompt := full, 512
	if os.Getenv("INGOT_TEST_SHAPE") == "small" {
		s, prompt = small, 16
	}
	for _, c := range []struct {
		name      string
		typ, more tensor.Type
	}{{"Q4_K_M", tensor.Q4_K, tensor.Q6_K}, {"Q8_0", tensor.Q8_0, tensor.Q8_0}} {
		emulate(b, "arch=sm_80")
		m := synthetic(b, s, c.typ, c.more)
		r, err := m.single(some(b, "cuda", 1)[0], prompt)
		if err != nil {
			b.Fatalf("%v %s", err, why())
		}
		b.Run(c.name+"/decode", func(b *testing.B) {
			measure(b, r, 1)
			bytes, _ := r.Work(1, 1)
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "tok/s")
			share(b, rate*float64(bytes)/1e9, "GPU_BANDWIDTH", "GB/s", "%bandwidth")
		})
		b.Run(c.name+"/prefill", func(b *testing.B) {
			measure(b, r, prompt)
			_, macs := r.Work(prompt, 1)
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate*float64(prompt), "tok/s")
			share(b, rate*2*float64(macs)/1e12, "GPU_TFLOPS", "TFLOP/s", "%bf16")
		})
		r.Close()
	}
}

func share(b *testing.B, v float64, env, unit, of string) {
	b.ReportMetric(v, unit)
	if most, err := strconv.ParseFloat(os.Getenv(env), 64); err == nil && most > 0 {
		b.ReportMetric(100*v/most, of)
	}
}

// measure runs batches of so many rows at the start of a slot.
func measure(b *testing.B, r *exec.Runner, n int) {
	batch := device.Batch{Tokens: make([]int32, n), Outs: []int32{int32(n) - 1}, Seqs: []device.Seq{{Rows: int32(n), PlaneIn: -1}}}
	for i := range batch.Tokens {
		batch.Tokens[i] = int32(i)
	}
	for range 2 { // kernels compiled, graph captured
		if err := r.Run(&batch); err != nil {
			b.Fatalf("%v %s", err, why())
		}
	}
	for b.Loop() {
		if err := r.Run(&batch); err != nil {
			b.Fatal(err)
		}
	}
}

// single loads the model on one card for prompts of so many rows.
func (m *model) single(card device.Card, rows int) (*exec.Runner, error) {
	g := graph.NewBuilder()
	m.arch.Forward(g)
	typ := func(w *graph.Weight) tensor.Type { return m.weights[w.ID].Type }
	p, err := plan.Make(g.Graph(), typ, plan.Options{Rows: rows, Outs: 1, QuantRow: card.Plan().QuantRow})
	if err != nil {
		return nil, err
	}
	lanes, err := device.Load([]device.Card{card}, []device.Spec{{Plan: p, Weights: m.weights, Slots: 1, Cells: 4096, Planes: 2, Keys: tensor.F16, Values: tensor.F16, Repack: true}})
	if err != nil {
		return nil, err
	}
	return exec.New(exec.Stage{Lanes: lanes}), nil
}
