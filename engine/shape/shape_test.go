package shape

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ingot/engine/arch"
	"ingot/engine/gguf"
	"ingot/engine/tensor"
)

func open(t *testing.T, name string) *gguf.File {
	t.Helper()
	path := filepath.Join("models", name+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(path, b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What is known of the published files: parameters, and bytes of the tensors.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		name             string
		parameters, size float64 // in 1e9
	}{
		{"Qwen3-14B", 14.77, 9.00}, {"Qwen3.6-27B", 26.9, 28.6}, {"Qwen3.6-35B-A3B", 34.66, 21.2},
	} {
		f := open(t, c.name)
		var n, bytes int64
		for _, x := range f.Tensors() {
			e, err := tensor.Elements(x.Shape)
			if err != nil {
				t.Fatal(err)
			}
			n, bytes = n+e, bytes+x.Bytes()
		}
		for _, v := range []struct {
			what       string
			have, want float64
		}{{"parameters", float64(n) / 1e9, c.parameters}, {"bytes", float64(bytes) / 1e9, c.size}} {
			t.Logf("%s: %.3f G %s", c.name, v.have, v.what)
			if v.have < 0.99*v.want || v.have > 1.01*v.want {
				t.Errorf("%s: %.3f G %s, expected %.3f", c.name, v.have, v.what, v.want)
			}
		}
		model, err := arch.New(f.Meta(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := model.Common().Bind(func(func(string, []int64) bool) {}); !errors.Is(err, arch.ErrTensors) {
			t.Errorf("%s without tensors: %v", c.name, err)
		}
	}
}

func TestTypesAndOptionalTensors(t *testing.T) {
	const small = `{"metadata": {"general.architecture": "qwen3", "qwen3.context_length": 64, "qwen3.embedding_length": 256, "qwen3.block_count": 1,
		"qwen3.feed_forward_length": 512, "qwen3.attention.head_count": 2, "qwen3.attention.layer_norm_rms_epsilon": 1e-6},
		"vocabulary": 100, "mix": "Q8_0", "types": [{"tensors": "attn_v", "type": "Q4_K"}]`
	f, err := Read("x.json", []byte(small+"}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]tensor.Type{"blk.0.attn_v.weight": tensor.Q4_K, "blk.0.attn_k.weight": tensor.Q8_0, "blk.0.attn_norm.weight": tensor.F32} {
		if x, ok := f.Tensor(name); !ok || x.Type != want {
			t.Errorf("%s is %+v, expected %v", name, x, want)
		}
	}
	if _, ok := f.Tensor("output.weight"); ok {
		t.Error("a tensor that nobody listed")
	}
	if f, err = Read("x.json", []byte(small+`, "optional": ["^output"]}`)); err != nil {
		t.Fatal(err)
	}
	if x, ok := f.Tensor("output.weight"); !ok || x.Type != tensor.Q8_0 || x.Data != nil {
		t.Errorf("output.weight: %+v", x)
	}
	for name, c := range map[string]struct{ change, to, want string }{
		"mix":        {`"Q8_0"`, `"Q9"`, `unknown type "Q9"`},
		"no mix":     {`"mix": "Q8_0",`, ``, "mix is missing"},
		"type":       {`"Q4_K"`, `"Q4_X"`, `unknown tensor type "Q4_X"`},
		"pattern":    {`"attn_v"`, `"("`, "missing closing"},
		"field":      {`"vocabulary"`, `"vocab"`, "unknown field"},
		"no vocab":   {`100`, `0`, "the vocabulary is empty"},
		"too large":  {`"qwen3.embedding_length": 256`, `"qwen3.embedding_length": 1e9`, "embedding_length"},
		"no arch":    {`qwen3",`, `nothing",`, `unknown architecture "nothing"`},
		"float":      {`1e-6`, `1`, "layer_norm_rms_epsilon"},
		"not a JSON": {`{"metadata"`, `[`, "invalid character"},
	} {
		text := strings.Replace(small+"}", c.change, c.to, 1)
		if _, err := Read("x.json", []byte(text)); !errors.Is(err, ErrShape) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
}
