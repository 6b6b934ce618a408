package arch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ingot/engine"
	"ingot/engine/arch/archtest"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
)

var folder = flag.String("models", "", "write the models and prompts whose answers testdata holds to this `folder`")

// recorded are the models whose answers of llama.cpp (August 2026, on a CPU, in f32 but for F16 weights and cache) lie in
// testdata. Random weights, so the answers mean nothing; but they are all that another reading of these architectures gives.
func recorded() []variant {
	long := func(arch string, set map[string]any) map[string]any {
		all := map[string]any{arch + ".context_length": uint32(512)}
		for key, v := range set {
			all[arch+"."+key] = v
		}
		return all
	}
	return []variant{
		{"gpt-oss", "gpt-oss", long("gpt-oss", nil), nil},
		{"minimax-m2", "minimax-m2", long("minimax-m2", nil), archtest.Without(".bias")},
		{"gemma4", "gemma4", long("gemma4", nil), archtest.Without(".bias")},
		{"gemma4-dense", "gemma4", long("gemma4", map[string]any{"expert_count": uint32(0), "expert_used_count": uint32(0), "feed_forward_length": []uint32{96, 64, 64, 128}}), archtest.Without(".bias", "attn_v.weight", "output.weight")},
		{"gemma4-small", "gemma4", long("gemma4", map[string]any{"expert_count": uint32(0), "expert_used_count": uint32(0), "embedding_length_per_layer_input": uint32(32),
			"attention.shared_kv_layers": uint32(2)}), archtest.Without(".bias")},
	}
}

// answers is a recording: greedy steps with the best tokens of each and the natural logarithm of their probability.
type answers struct {
	SHA256 string // of the model's tensors
	Cases  []struct {
		Prompt []int32
		Steps  []struct {
			ID  int32
			Top [][2]float64
		}
	}
}

// Where no weight is quantized, answers lie within 0.02 of llama.cpp's on average, for prompts shorter and longer than a window.
func TestAnswersOfLlamaCPP(t *testing.T) {
	const near = 0.02
	for _, v := range recorded() {
		t.Run(v.name, func(t *testing.T) {
			path, sum := v.write(t, tensor.F16), v.digest(t)
			if *folder != "" {
				keep(t, v.name, path, sum)
				return
			}
			data, err := os.ReadFile(filepath.Join("testdata", v.name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want answers
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if sum != want.SHA256 {
				t.Fatal("the model is another than the one whose answers were recorded; see testdata/README.md")
			}
			for _, level := range cpu.Levels() {
				e := open(t, path, engine.Options{Threads: 2, Level: level.String()})
				mean, agree := distance(t, e, &want)
				if t.Logf("%v: mean |delta log p| %.5f, the same best token in %.3f of the steps", level, mean, agree); mean >= near {
					t.Errorf("%v: answers are %.5f from llama.cpp's on average, expected below %.2f", level, mean, near)
				}
			}
		})
	}
}

// digest is that of all tensors; the file's own would change with the order of its metadata.
func (v *variant) digest(t *testing.T) string {
	ts, err := archtest.Tensors(v.meta(), tensor.F16, v.leave)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, w := range ts {
		fmt.Fprintln(h, w.Name, w.Type, w.Shape)
		h.Write(w.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// keep writes a model, its digest and its prompts, a line of tokens each.
func keep(t *testing.T, name, path, sum string) {
	model, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var prompts strings.Builder
	for _, n := range []int{1, 7, 60, 300} {
		for _, token := range text(n) {
			fmt.Fprintf(&prompts, "%d ", token)
		}
		prompts.WriteByte('\n')
	}
	for ext, data := range map[string][]byte{".gguf": model, ".sha256": []byte(sum), ".txt": []byte(prompts.String())} {
		if err := os.WriteFile(filepath.Join(*folder, name+ext), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// distance is the mean |delta log p| over the recorded tokens, and the share of steps with the same best one. What is fed
// is what was recorded, never the engine's own choice.
func distance(t *testing.T, e *engine.Engine, want *answers) (mean, agree float64) {
	t.Helper()
	var count, steps float64
	for _, c := range want.Cases {
		s, err := e.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		feed := c.Prompt
		for _, step := range c.Steps {
			err := s.Feed(feed, func(logits []float32) {
				total, best := 0.0, 0
				for i, l := range logits {
					total += math.Exp(float64(l))
					if l > logits[best] {
						best = i
					}
				}
				for _, top := range step.Top {
					mean += math.Abs(float64(logits[int(top[0])]) - math.Log(total) - top[1])
					count++
				}
				if int32(best) == step.ID {
					agree++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			steps++
			feed = []int32{step.ID}
		}
		s.Close()
	}
	return mean / count, agree / steps
}
