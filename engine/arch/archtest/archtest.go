// Package archtest makes tiny models with random weights, of every architecture, for tests.
//
// What a model needs is taken from the architecture's own declarations, so a new architecture only adds its
// parameters to the table below.
package archtest

import (
	"encoding/binary"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"ingot/engine/arch"
	"ingot/engine/gguf"
	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// Vocab is the number of tokens of a tiny model; they have no texts.
const Vocab = 96

var common = map[string]any{
	"block_count": uint32(4), "context_length": uint32(128), "embedding_length": uint32(64), "feed_forward_length": uint32(96),
	"attention.head_count": uint32(4), "attention.head_count_kv": uint32(2), "attention.layer_norm_rms_epsilon": float32(1e-6),
	"rope.freq_base": float32(10000), "vocab_size": uint32(Vocab),
}

var experts = map[string]any{"expert_count": uint32(5), "expert_used_count": uint32(2), "expert_feed_forward_length": uint32(32)}

var hybrid = map[string]any{
	"attention.key_length": uint32(32), "attention.value_length": uint32(32), "rope.dimension_count": uint32(8), "full_attention_interval": uint32(2),
	"ssm.conv_kernel": uint32(4), "ssm.state_size": uint32(16), "ssm.group_count": uint32(2), "ssm.time_step_rank": uint32(4), "ssm.inner_size": uint32(64),
}

// windowed has a layer of each kind, with heads of different sizes and numbers.
var windowed = map[string]any{
	"attention.sliding_window": uint32(8), "attention.sliding_window_pattern": []bool{true, false, true, false},
	"embedding_length_per_layer_input": uint32(0), "attention.key_length": uint32(32), "attention.value_length": uint32(32), "attention.key_length_swa": uint32(16), "attention.value_length_swa": uint32(16),
	"attention.head_count_kv": []uint32{2, 1, 2, 1}, "rope.dimension_count": uint32(32), "rope.dimension_count_swa": uint32(16), "rope.freq_base_swa": float32(1000),
	"final_logit_softcapping": float32(30),
}

// params are the parameters of each architecture beside the common ones.
var params = map[string][]map[string]any{
	"gemma4": {experts, windowed},
	"gpt-oss": {experts, {"attention.key_length": uint32(32), "attention.value_length": uint32(32), "attention.sliding_window": uint32(8),
		"rope.scaling.type": "yarn", "rope.scaling.factor": float32(8), "rope.scaling.original_context_length": uint32(16)}},
	"llama": {{"rope.dimension_count": uint32(16)}},
	"minimax-m2": {experts, {"feed_forward_length": uint32(32), "attention.key_length": uint32(32), "attention.value_length": uint32(32), "rope.dimension_count": uint32(16),
		"expert_gating_func": uint32(2)}},
	"qwen2":     {},
	"qwen3":     {{"attention.key_length": uint32(32), "attention.value_length": uint32(32)}},
	"qwen3moe":  {experts, {"attention.key_length": uint32(32), "attention.value_length": uint32(32)}},
	"qwen35":    {hybrid},
	"qwen35moe": {hybrid, experts, {"expert_shared_feed_forward_length": uint32(64)}},
}

// forms are further models of an architecture, which differ in kind. Their names begin with the architecture's.
var forms = map[string][]map[string]any{
	"gemma4 dense": {windowed, {"feed_forward_length": []uint32{96, 64, 64, 128}}},
	"gemma4 small": {windowed, {"embedding_length_per_layer_input": uint32(32), "attention.shared_kv_layers": uint32(2)}},
}

// Names lists the architectures, and further forms of some, sorted.
func Names() []string {
	return slices.Sorted(slices.Values(slices.AppendSeq(arch.Names(), maps.Keys(forms))))
}

// Meta returns the metadata of a tiny model of an architecture, or of a form of one.
func Meta(name string) *gguf.Meta {
	more, ok := forms[name]
	if name, _, _ = strings.Cut(name, " "); !ok {
		more = params[name]
	}
	m := gguf.NewMeta()
	m.Set("general.architecture", name)
	m.Set("tokenizer.ggml.model", "no_vocab")
	for _, p := range append([]map[string]any{common}, more...) {
		for key, v := range p {
			m.Set(name+"."+key, v)
		}
	}
	return m
}

// Without chooses the optional weights that a model leaves out: the output head is then tied to the embeddings.
func Without(names ...string) func(*graph.Weight) bool {
	return func(w *graph.Weight) bool {
		for _, n := range names {
			if w.Optional && strings.HasSuffix(w.Name, n) {
				return true
			}
		}
		return false
	}
}

// Tensors makes every weight that a model with that metadata declares, but for those that leave chooses (nil: none).
// Tensors that stand in for one that is left out are made in its place. Matrices are of type t where a row of them allows it, all else is F32.
func Tensors(m *gguf.Meta, t tensor.Type, leave func(*graph.Weight) bool) ([]gguf.WriteTensor, error) {
	model, err := arch.New(m, Vocab)
	if err != nil {
		return nil, err
	}
	r, name := rand.New(rand.NewPCG(3, 5)), model.Common().Arch
	standIn := map[*graph.Weight]bool{}
	for _, w := range model.Common().Weights {
		for _, o := range w.Or {
			standIn[o] = leave == nil || !leave(w)
		}
	}
	var ts []gguf.WriteTensor
	for _, w := range model.Common().Weights {
		if leave != nil && leave(w) || standIn[w] {
			continue
		}
		typ := tensor.F32
		if len(w.Shape) > 1 && w.Shape[0]%int64(t.Block()) == 0 && !strings.Contains(w.Name, "conv1d") && !strings.HasSuffix(w.Name, ".bias") {
			typ = t
		}
		ts = append(ts, gguf.WriteTensor{Name: w.Name, Type: typ, Shape: w.Shape, Data: encode(typ, values(r, name, w))})
	}
	return ts, nil
}

// Write writes a tiny model.
func Write(to io.Writer, m *gguf.Meta, t tensor.Type, leave func(*graph.Weight) bool) error {
	ts, err := Tensors(m, t, leave)
	if err != nil {
		return err
	}
	return gguf.Write(to, m, ts)
}

// values are random and of a size that keeps activations near 1, and scores of attention below 10.
func values(r *rand.Rand, arch string, w *graph.Weight) []float32 {
	n, _ := tensor.Elements(w.Shape)
	out := make([]float32, n)
	for i := range out {
		x := r.NormFloat64()
		switch {
		case arch == "gemma4" && strings.HasSuffix(w.Name, "attn_q_norm.weight"): // scores are not scaled
			x = (1 + x/8) / math.Sqrt(float64(w.Shape[0]))
		case strings.HasSuffix(w.Name, "ssm_a"):
			x = -math.Exp(x / 2)
		case strings.HasPrefix(w.Name, "rope_freqs"):
			x = 1 + math.Abs(x)
		case strings.HasSuffix(w.Name, "norm.weight"), strings.HasSuffix(w.Name, "scale"), strings.HasSuffix(w.Name, "scale.weight"),
			strings.Contains(w.Name, "ffw_norm"):
			x = 1 + x/8
		case strings.HasSuffix(w.Name, ".bias"):
			x /= 4
		case len(w.Shape) > 1:
			x /= math.Sqrt(float64(w.Shape[0]))
		}
		out[i] = float32(x)
	}
	return out
}

// encode packs values as F32, F16, BF16 or Q8_0.
func encode(t tensor.Type, v []float32) []byte {
	var b []byte
	le := binary.LittleEndian
	switch t {
	case tensor.F32:
		for _, x := range v {
			b = le.AppendUint32(b, math.Float32bits(x))
		}
	case tensor.BF16:
		for _, x := range v {
			b = le.AppendUint16(b, uint16(math.Float32bits(x)>>16))
		}
	case tensor.F16:
		for _, x := range v {
			b = le.AppendUint16(b, half(x))
		}
	case tensor.Q8_0:
		for ; len(v) > 0; v = v[32:] {
			top := 0.0
			for _, x := range v[:32] {
				top = max(top, math.Abs(float64(x)))
			}
			b = le.AppendUint16(b, half(float32(top/127)))
			for _, x := range v[:32] {
				b = append(b, byte(int8(math.Round(float64(x)*127/math.Max(top, 1e-9)))))
			}
		}
	default:
		panic("archtest: no encoding for " + t.String())
	}
	return b
}

// half is x cut to a 16-bit float: normal numbers only, the rest become 0.
func half(x float32) uint16 {
	b := math.Float32bits(x)
	e := int(b>>23&0xff) - 127 + 15
	if e < 1 || e > 30 {
		return uint16(b >> 16 & 0x8000)
	}
	return uint16(b>>16&0x8000) | uint16(e)<<10 | uint16(b>>13&0x3ff)
}
