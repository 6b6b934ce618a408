package arch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ingot/engine/arch"
	"ingot/engine/arch/archtest"
	"ingot/engine/gguf"
	"ingot/engine/graph"
)

func TestEveryArchitecture(t *testing.T) {
	for _, name := range arch.Names() {
		t.Run(name, func(t *testing.T) {
			m, err := arch.New(archtest.Meta(name), archtest.Vocab)
			if err != nil {
				t.Fatal(err)
			}
			h := m.Common()
			if h.Arch != name || h.Layers != 4 || h.Dim != 64 || h.Heads != 4 || h.KVHeads != 2 || h.Vocab != archtest.Vocab || h.TrainContext != 128 {
				t.Errorf("%+v", h)
			}
			seen := map[string]bool{}
			for i, w := range h.Weights {
				if seen[w.Name] || w.ID != i {
					t.Errorf("weight %d: %s with ID %d", i, w.Name, w.ID)
				}
				seen[w.Name] = true
			}
			layers := map[int]int{}
			for i, s := range h.States {
				if s.ID != i || s.Recurrent() == (s.KVHeads > 0) {
					t.Errorf("state %d: %+v", i, s)
				}
				layers[s.Layer]++
			}
			for i := range h.Layers {
				if layers[i] != 1 {
					t.Errorf("layer %d has %d states", i, layers[i])
				}
			}
			b := graph.NewBuilder()
			m.Forward(b)
			g := b.Graph()
			used := map[*graph.Weight]bool{}
			named := map[string]int{}
			for _, n := range g.Nodes {
				for _, w := range n.W {
					used[w] = true
				}
			}
			for _, v := range g.Values {
				named[v.Name]++
			}
			for _, w := range h.Weights {
				for _, o := range w.Or {
					used[o] = used[w]
				}
			}
			for _, w := range h.Weights {
				if !used[w] {
					t.Errorf("%s is declared and never used", w.Name)
				}
			}
			for name, want := range map[string]int{graph.Embedding: 1, graph.AttnNorm: 4, graph.AttnOut: 4, graph.FFNIn: 4, graph.FFNNorm: 4,
				graph.FFNOut: 4, graph.LayerOut: 4, graph.ResultNorm: 1, graph.Logits: 1} {
				if named[name] != want {
					t.Errorf("%d values are named %s, expected %d", named[name], name, want)
				}
			}
			if g.Logits.Cols != archtest.Vocab || g.Hidden.Cols != h.Dim {
				t.Errorf("logits %d, hidden %d", g.Logits.Cols, g.Hidden.Cols)
			}
		})
	}
}

func TestParametersAreChecked(t *testing.T) {
	for _, c := range []struct {
		arch, key string
		v         any // nil: the key is missing
		want      string
	}{
		{"llama", "general.architecture", "gpt9", `unknown architecture "gpt9"; Ingot runs gemma4, gpt-oss, llama, `},
		{"llama", "general.architecture", nil, "general.architecture"},
		{"llama", "general.architecture", uint32(1), "general.architecture"},
		{"qwen3", "qwen3.block_count", uint32(513), "qwen3.block_count is 513, expected 1 to 512"},
		{"qwen3", "qwen3.block_count", uint32(0), "qwen3.block_count is 0, expected 1 to 512"},
		{"qwen3", "qwen3.block_count", nil, "qwen3.block_count"},
		{"qwen3", "qwen3.block_count", "four", "qwen3.block_count"},
		{"qwen3", "qwen3.block_count", uint64(1 << 63), "qwen3.block_count"},
		{"qwen3", "qwen3.embedding_length", nil, "qwen3.embedding_length"},
		{"qwen3", "qwen3.embedding_length", int32(-64), "qwen3.embedding_length is -64, expected 1 to 131072"},
		{"qwen3", "qwen3.context_length", nil, "qwen3.context_length"},
		{"qwen3", "qwen3.attention.head_count", nil, "qwen3.attention.head_count"},
		{"qwen3", "qwen3.attention.head_count", []uint32{4, 4, 4, 4}, "qwen3.attention.head_count"},
		{"qwen3", "qwen3.attention.head_count_kv", uint32(3), "qwen3.attention.head_count 4 is not a multiple of head_count_kv 3"},
		{"qwen3", "qwen3.attention.head_count_kv", uint32(0), "qwen3.attention.head_count_kv is 0, expected 1 to 4096"},
		{"qwen3", "qwen3.attention.value_length", uint32(16), "qwen3.attention.value_length is 16, expected the key length 32"},
		{"llama", "llama.attention.head_count", uint32(6), "llama.embedding_length 64 is not a multiple of attention.head_count 6"},
		{"qwen3", "qwen3.attention.layer_norm_rms_epsilon", nil, "qwen3.attention.layer_norm_rms_epsilon is missing"},
		{"qwen3", "qwen3.attention.layer_norm_rms_epsilon", float32(-1), "qwen3.attention.layer_norm_rms_epsilon is -1, expected 0 to 1"},
		{"qwen3", "qwen3.feed_forward_length", nil, "qwen3.feed_forward_length is missing"},
		{"llama", "llama.rope.dimension_count", uint32(15), "llama.rope.dimension_count is 15, expected an even number up to the head's 16"},
		{"llama", "llama.rope.dimension_count", uint32(18), "llama.rope.dimension_count is 18, expected an even number up to the head's 16"},
		{"llama", "llama.rope.freq_base", float32(0), "llama.rope.freq_base is 0, expected 1 to"},
		{"llama", "llama.rope.scaling.type", "longrope", `llama.rope.scaling.type is "longrope", expected none, linear or yarn`},
		{"qwen3moe", "qwen3moe.expert_count", nil, "qwen3moe.expert_count"},
		{"qwen3moe", "qwen3moe.expert_used_count", uint32(6), "qwen3moe.expert_used_count is 6, expected 1 to 5"},
		{"qwen35", "qwen35.ssm.inner_size", uint32(65), "qwen35.ssm.inner_size is 65, expected time_step_rank * state_size = 64"},
		{"qwen35", "qwen35.ssm.group_count", uint32(3), "qwen35.ssm.time_step_rank 4 is not a multiple of group_count 3"},
		{"qwen35", "qwen35.ssm.conv_kernel", uint32(1), "qwen35.ssm.conv_kernel is 1, expected 2 to 16"},
		{"qwen35", "qwen35.ssm.state_size", nil, "qwen35.ssm.state_size"},
		{"qwen35", "qwen35.nextn_predict_layers", uint32(4), "qwen35.nextn_predict_layers is 4, expected 0 to 3"},
		{"qwen35", "qwen35.full_attention_interval", uint32(0), "qwen35.full_attention_interval is 0, expected 1 to 512"},
		{"qwen3", "qwen3.attention.head_count_kv", []uint32{2, 2, 2, 2}, ""},
		{"qwen3", "qwen3.attention.head_count_kv", []uint32{2, 1, 2, 2}, "qwen3.attention.head_count_kv differs from layer to layer, which qwen3 cannot"},
		{"qwen3", "qwen3.feed_forward_length", []uint32{96, 64, 96, 96}, "qwen3.feed_forward_length differs from layer to layer"},
		{"gpt-oss", "gpt-oss.attention.sliding_window", nil, "gpt-oss.attention.sliding_window"},
		{"gpt-oss", "gpt-oss.attention.sliding_window_pattern", []bool{true}, "gpt-oss.attention.sliding_window_pattern has 1 values for 4 layers"},
		{"minimax-m2", "minimax-m2.expert_gating_func", uint32(3), "minimax-m2.expert_gating_func is 3, expected 1 to 2"},
		{"gemma4", "gemma4.attention.head_count_kv", []uint32{2, 1, 3, 1}, "gemma4.attention.head_count 4 is not a multiple of layer 2's head_count_kv 3"},
		{"gemma4", "gemma4.attention.head_count_kv", []uint32{2, 1, 0, 1}, "gemma4.attention.head_count_kv of layer 2 is 0, expected 1 to 4096"},
		{"gemma4", "gemma4.attention.head_count_kv", []uint32{2, 1}, "gemma4.attention.head_count_kv has 2 values for 4 layers"},
		{"gemma4", "gemma4.feed_forward_length", nil, "gemma4.feed_forward_length is missing"},
		{"gemma4", "gemma4.attention.value_length_swa", uint32(32), "gemma4.attention.value_length_swa is 32, expected the key length 16"},
		{"gemma4", "gemma4.rope.dimension_count_swa", uint32(18), "gemma4.rope.dimension_count_swa is 18, expected an even number up to the head's 16"},
		{"gemma4", "gemma4.attention.shared_kv_layers", uint32(1), "gemma4.attention.shared_kv_layers leaves 3 layers"},
		{"gemma4", "gemma4.attention.shared_kv_layers", uint32(3), "gemma4.attention.shared_kv_layers leaves 1 layers"},
		{"gemma4", "gemma4.attention.shared_kv_layers", uint32(2), ""},
	} {
		m := archtest.Meta(c.arch)
		if c.v == nil {
			m.Delete(c.key)
		} else {
			m.Set(c.key, c.v)
		}
		_, err := arch.New(m, archtest.Vocab)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s = %v: %v", c.key, c.v, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v: %v; expected %q", c.key, c.v, err, c.want)
			continue
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s = %v: more than one line: %q", c.key, c.v, err)
		}
		if !errors.Is(err, arch.ErrParameter) && !errors.Is(err, arch.ErrUnknown) {
			t.Errorf("%s = %v: %v is neither ErrParameter nor ErrUnknown", c.key, c.v, err)
		}
	}
	if _, err := arch.New(archtest.Meta("llama"), 0); err == nil || !strings.Contains(err.Error(), "vocabulary is empty") {
		t.Error(err)
	}
}

func TestAllWrongParametersAreNamedAtOnce(t *testing.T) {
	m := archtest.Meta("llama")
	m.Set("llama.block_count", uint32(1000))
	m.Delete("llama.context_length")
	_, err := arch.New(m, archtest.Vocab)
	if err == nil || !strings.Contains(err.Error(), "block_count is 1000") || !strings.Contains(err.Error(), "context_length") || !errors.Is(err, gguf.ErrNoKey) {
		t.Error(err)
	}
}

// tensors is what a file of that model holds; change may alter it.
func bind(t *testing.T, m *gguf.Meta, change func(map[string][]int64)) (*arch.Hyper, error) {
	t.Helper()
	model, err := arch.New(m, archtest.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	h := model.Common()
	found := map[string][]int64{}
	for _, w := range h.Weights {
		found[w.Name] = w.Shape
	}
	if change != nil {
		change(found)
	}
	names := []string{}
	for n := range found {
		names = append(names, n)
	}
	slices.Sort(names)
	return h, h.Bind(func(yield func(string, []int64) bool) {
		for _, n := range names {
			if !yield(n, found[n]) {
				return
			}
		}
	})
}

func TestTensorsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(map[string][]int64)
		want   string // "": nothing is wrong
	}{
		{"all there", func(map[string][]int64) {}, ""},
		{"missing", func(f map[string][]int64) { delete(f, "blk.2.attn_k.weight") }, "blk.2.attn_k.weight is missing (expected [64 64])"},
		{"wrong shape", func(f map[string][]int64) { f["output_norm.weight"] = []int64{63} }, "output_norm.weight has shape [63], expected [64]"},
		{"turned shape", func(f map[string][]int64) { f["blk.0.ffn_up.weight"] = []int64{96, 64} }, "blk.0.ffn_up.weight has shape [96 64], expected [64 96]"},
		{"a dimension of 1 more", func(f map[string][]int64) { f["output_norm.weight"] = []int64{64, 1} }, ""},
		{"optional ones missing", func(f map[string][]int64) { delete(f, "output.weight"); delete(f, "blk.1.attn_q.bias") }, ""},
		{"an optional one of the wrong shape", func(f map[string][]int64) { f["output.weight"] = []int64{64, 95} }, "output.weight has shape [64 95], expected [64 96]"},
		{"one that nobody reads", func(f map[string][]int64) { f["blk.0.attn_sinks.weight"] = []int64{4} }, "blk.0.attn_sinks.weight is not part of qwen3"},
		{"a block too many", func(f map[string][]int64) { f["blk.4.attn_norm.weight"] = []int64{64} }, "blk.4.attn_norm.weight is not part of qwen3"},
		{"tables of old converters", func(f map[string][]int64) { f["blk.0.attn_rot_embd.weight"] = []int64{16} }, ""},
		{"two at once", func(f map[string][]int64) {
			delete(f, "token_embd.weight")
			f["output_norm.weight"] = []int64{1}
		}, "token_embd.weight is missing (expected [64 96]); output_norm.weight has shape [1], expected [64]"},
		{"nearly all", func(f map[string][]int64) {
			for n := range f {
				if strings.HasPrefix(n, "blk.") {
					delete(f, n)
				}
			}
		}, "; and 36 more"},
	} {
		_, err := bind(t, archtest.Meta("qwen3"), c.change)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, arch.ErrTensors) {
			t.Errorf("%s: %v; expected %q", c.name, err, c.want)
		}
	}
}

// Gate and up of Gemma 4's experts lie in one tensor, or in two that stand in for it; one of the two is not enough.
func TestTensorsThatStandIn(t *testing.T) {
	apart := func(names ...string) func(map[string][]int64) {
		return func(f map[string][]int64) {
			for i := range 4 {
				for _, n := range names {
					delete(f, fmt.Sprintf("blk.%d.%s.weight", i, n))
				}
			}
		}
	}
	for _, c := range []struct {
		gone []string
		want string
	}{
		{[]string{"ffn_gate_exps", "ffn_up_exps"}, ""},
		{[]string{"ffn_gate_up_exps"}, ""},
		{[]string{"ffn_gate_up_exps", "ffn_up_exps"}, "blk.0.ffn_gate_up_exps.weight is missing (expected [64 64 5])"},
	} {
		h, err := bind(t, archtest.Meta("gemma4"), apart(c.gone...))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("without %v: %v; expected %q", c.gone, err, c.want)
		}
		for _, w := range h.Weights {
			if len(w.Or) > 0 && err == nil && w.Absent != slices.Contains(c.gone, "ffn_gate_up_exps") {
				t.Errorf("without %v: %s is absent: %v", c.gone, w.Name, w.Absent)
			}
		}
	}
}

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		arch string
		v    any // nil: as the architecture has it
		want string
	}{
		{"gpt-oss", nil, "8 0 8 0"},
		{"gpt-oss", uint32(4), "8 8 8 0"},
		{"gpt-oss", uint32(1), "0 0 0 0"},
		{"gpt-oss", []bool{false, true, true, false}, "0 8 8 0"},
		{"gemma4", nil, "8 8 8 8"}, // every sixth layer is full
		{"gemma4", []int32{0, 0, 1, 0}, "0 0 8 0"},
	} {
		m := archtest.Meta(c.arch)
		if m.Delete(c.arch + ".attention.sliding_window_pattern"); c.v != nil {
			m.Set(c.arch+".attention.sliding_window_pattern", c.v)
		}
		model, err := arch.New(m, archtest.Vocab)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range model.Common().States {
			got = append(got, fmt.Sprint(s.Window))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s, pattern %v: windows %s, expected %s", c.arch, c.v, s, c.want)
		}
	}
}

func TestTiedEmbeddingsStandInForTheHead(t *testing.T) {
	h, err := bind(t, archtest.Meta("qwen3"), func(f map[string][]int64) { delete(f, "output.weight") })
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder()
	model, _ := arch.New(archtest.Meta("qwen3"), archtest.Vocab)
	for i, w := range model.Common().Weights {
		w.Absent = h.Weights[i].Absent
	}
	model.Forward(b)
	last := b.Graph().Nodes[len(b.Graph().Nodes)-1]
	if last.W[0].Name != "token_embd.weight" {
		t.Errorf("the head multiplies with %s", last.W[0].Name)
	}
}

func TestDraftingBlocksAreLeftOut(t *testing.T) {
	m := archtest.Meta("qwen35")
	m.Set("qwen35.block_count", uint32(5))
	m.Set("qwen35.nextn_predict_layers", uint32(1))
	h, err := bind(t, m, func(f map[string][]int64) {
		f["blk.4.nextn.eh_proj.weight"] = []int64{128, 64}
		f["blk.4.attn_norm.weight"] = []int64{64}
	})
	if err != nil || h.Layers != 4 || h.Blocks != 5 {
		t.Errorf("%v, %d layers of %d blocks", err, h.Layers, h.Blocks)
	}
	if _, err := bind(t, m, func(f map[string][]int64) { f["blk.5.attn_norm.weight"] = []int64{64} }); err == nil {
		t.Error("a block beyond the last was taken")
	}
}

func TestMixtralExperts(t *testing.T) {
	m := archtest.Meta("llama")
	m.Set("llama.expert_count", uint32(4))
	m.Set("llama.expert_used_count", uint32(2))
	h, err := bind(t, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(h.Weights, func(w *graph.Weight) bool { return w.Name == "blk.0.ffn_gate_exps.weight" })
	if i < 0 || !slices.Equal(h.Weights[i].Shape, []int64{64, 96, 4}) {
		t.Errorf("experts are declared as %+v", h.Weights)
	}
}

func TestRopeParameters(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     map[string]any
		scaling graph.Scaling
		factor  float64
	}{
		{"none", nil, graph.ScalingLinear, 1},
		{"a factor without a type is linear", map[string]any{"rope.scaling.factor": float32(4)}, graph.ScalingLinear, 4},
		{"linear", map[string]any{"rope.scaling.type": "linear", "rope.scaling.factor": float32(4)}, graph.ScalingLinear, 4},
		{"the older key", map[string]any{"rope.scale_linear": float32(2)}, graph.ScalingLinear, 2},
		{"none, whatever the factor", map[string]any{"rope.scaling.type": "none", "rope.scaling.factor": float32(4)}, graph.ScalingNone, 4},
		{"yarn", map[string]any{"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4), "rope.scaling.original_context_length": uint32(32)}, graph.ScalingYarn, 4},
	} {
		m := archtest.Meta("qwen2")
		for k, v := range c.set {
			m.Set("qwen2."+k, v)
		}
		model, err := arch.New(m, archtest.Vocab)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := model.Common().Rope
		if r.Scaling != c.scaling || r.Factor != c.factor || r.Dims != 16 || !r.Neox || r.Base != 10000 {
			t.Errorf("%s: %+v", c.name, r)
		}
		if want := map[bool]int{true: 32, false: 128}[c.scaling == graph.ScalingYarn]; r.OrigContext != want {
			t.Errorf("%s: original context %d, expected %d", c.name, r.OrigContext, want)
		}
	}
}
