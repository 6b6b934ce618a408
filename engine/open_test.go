package engine

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ingot/engine/arch"
	"ingot/engine/arch/archtest"
	"ingot/engine/device"
	"ingot/engine/gguf"
	"ingot/engine/tensor"
)

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		o    Options
		is   error
		want string
	}{
		{Options{Threads: -1}, ErrBadRequest, "Options.Threads is -1, expected 0 to"},
		{Options{Context: -5}, ErrBadRequest, "Options.Context is -5"},
		{Options{Slots: 1 << 20}, ErrBadRequest, "Options.Slots is 1048576, expected 0 to 1024"},
		{Options{UBatch: -1}, ErrBadRequest, "Options.UBatch is -1"},
		{Options{Split: "row"}, ErrBadRequest, `Options.Split is "row", expected one of none, layer, tensor`},
		{Options{Load: "swap"}, ErrBadRequest, `Options.Load is "swap", expected one of mmap, none, dio, mlock`},
		{Options{CacheK: "q4_k"}, ErrBadRequest, `Options.CacheK is "q4_k", expected one of f16, bf16, q8_0, q4_0, f32`},
		{Options{CacheV: "i8"}, ErrBadRequest, `Options.CacheV is "i8"`},
		{Options{Cards: []string{"tpu:0"}}, ErrBadRequest, `there is no card "tpu:0"`},
		{Options{Cards: []string{"hip:3"}}, ErrBadRequest, "hip:3: "},
		{Options{Cards: []string{"cpu", "cpu"}}, ErrBadRequest, `the card "cpu" is named twice`},
		{Options{Cards: []string{"65xcpu"}}, ErrBadRequest, `there is no card "65xcpu"`},
		{Options{Cards: []string{"cpu:64"}}, ErrBadRequest, "the CPU in 65 parts, expected up to 64"},
		{Options{Cards: []string{"2xcpu"}, Moves: []string{"ffn=cpu:7"}}, ErrBadRequest, `Options.Moves names "cpu:7", which is none of the cards cpu:0, cpu:1`},
		{Options{TPS: 65}, ErrBadRequest, "Options.TPS is 65, expected 0 to 64"},
		{Options{Cards: []string{"3xcpu"}, TPS: 2}, ErrBadRequest, "3 cards do not make stages of 2 lanes (-tps); 1 or 3 would do"},
		{Options{Cards: []string{"2xcpu"}, TPS: 2, Split: "layer"}, ErrBadRequest, "-sm layer has one lane a stage, -tps says 2"},
		{Options{Cards: []string{"2xcpu"}, Shares: []float64{1e308, 1e308}}, ErrBadRequest, "a share (-ts) of 1e+308 for cpu:0, expected 1e-06 to 1e+06"},
		{Options{Cards: []string{"2xcpu"}, Shares: []float64{1, 2, 3}}, ErrBadRequest, "3 proportions (-ts) where there should be 2, one a card"},
		{Options{Moves: []string{"ffn"}}, ErrBadRequest, `Options.Moves has "ffn", expected PATTERN=CARD`},
		{Options{Moves: []string{"ffn(=cpu"}}, ErrBadRequest, "Options.Moves: error parsing regexp"},
		{Options{Moves: []string{"ffn=hip:0"}}, ErrBadRequest, "hip:0: "},
		{Options{Level: "sse2"}, nil, "sse2"},
		{Options{Context: 1 << 30, Slots: 1 << 10}, device.ErrMemory, "MiB"},
	} {
		e, err := Open(sampleFile, c.o)
		if err == nil {
			e.Close()
		}
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v; expected %q", c.o, err, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	e := openSample(t, Options{Progress: func(p float64) {
		if p < 0 || p > 1 {
			t.Errorf("progress %v", p)
		}
	}})
	i := e.Info()
	if i.Architecture != "qwen35" || i.Quantization != "Q8_0" || i.Slots != 1 || i.Context != min(i.TrainContext, 4096) || i.Threads < 1 || i.Level == "" ||
		!i.HasTemplate || !i.CanThink || i.Vocab < 1000 || i.Layers < 2 || i.Embedding < 64 || i.Parameters < 1e6 || i.FileBytes < 1<<20 || i.Topology == "" {
		t.Errorf("%+v", i)
	}
	small := openSample(t, Options{Context: 10, UBatch: 500, Slots: 3, Cards: []string{"cpu"}, Split: "none", TPS: 1})
	if i := small.Info(); i.Context != 10 || i.Slots != 3 {
		t.Errorf("%+v", i)
	}
}

func TestCacheTypes(t *testing.T) {
	tokens := []int32{10, 20, 30, 40, 50, 60, 70}
	var exact []float32
	for _, c := range []struct {
		k, v  string
		bytes int64 // of a block of 32 values and another
		most  float64
	}{{"f32", "f32", 256, 0}, {"f16", "f16", 128, 0.3}, {"F16", "", 128, 0.3}, {"bf16", "bf16", 128, 0.5}, {"q8_0", "Q8_0", 68, 0.5},
		{"q8_0", "f16", 98, 0.5}, {"f16", "q4_0", 82, 2}, {"q4_0", "q4_0", 36, 3}} {
		e := openSample(t, Options{CacheK: c.k, CacheV: c.v, Context: 64})
		s, err := e.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		var got []float32
		if err := s.Feed(tokens, func(l []float32) { got = slices.Clone(l) }); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if exact == nil {
			exact = got
		}
		worst := 0.0
		for i := range got {
			worst = max(worst, math.Abs(float64(got[i]-exact[i])))
		}
		info, err := Inspect(sampleFile)
		if err != nil {
			t.Fatal(err)
		}
		if cache := e.Status().Cards[0].Parts["cache"]; worst > c.most || cache != info.KVBytes*c.bytes/128*64 {
			t.Errorf("%q, %q: logits differ by %v from f32, at most %v is expected; the cache takes %d bytes", c.k, c.v, worst, c.most, cache)
		}
	}
}

func TestInspect(t *testing.T) {
	begin := time.Now()
	i, err := Inspect(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %v", took)
	}
	e := openSample(t, Options{})
	open := e.Info()
	if i.Problem != "" || !i.CanThink || !i.HasTemplate || i.Layers != open.Layers || i.Vocab != open.Vocab || i.Parameters != open.Parameters ||
		i.Quantization != open.Quantization || i.KVBytes <= 0 || i.StateBytes <= 0 || i.Tensors < 20 || i.Types["Q8_0"] == 0 || len(i.Parts) != 1 {
		t.Errorf("%+v", i)
	}
	if _, err := Inspect("open_test.go"); !errors.Is(err, gguf.ErrNotGGUF) {
		t.Errorf("a text file: %v", err)
	}
	if _, err := Inspect("nowhere.gguf"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// tiny writes a tiny model with metadata and tensors changed, and returns its path.
func tiny(t *testing.T, name string, change func(m *gguf.Meta, ts []gguf.WriteTensor) []gguf.WriteTensor) string {
	t.Helper()
	m := archtest.Meta(name)
	ts, err := archtest.Tensors(m, tensor.F16, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		ts = change(m, ts)
	}
	path := filepath.Join(t.TempDir(), name+".gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := gguf.Write(f, m, ts); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesThatDoNotFit(t *testing.T) {
	type tensors = []gguf.WriteTensor
	index := func(ts tensors, name string) int {
		return slices.IndexFunc(ts, func(w gguf.WriteTensor) bool { return w.Name == name })
	}
	for _, c := range []struct {
		name   string
		change func(*gguf.Meta, tensors) tensors
		is     error
		want   string
	}{
		{"a missing tensor", func(_ *gguf.Meta, ts tensors) tensors {
			i := index(ts, "blk.1.ffn_up.weight")
			return slices.Delete(ts, i, i+1)
		}, arch.ErrTensors, "qwen3.gguf: the file's tensors do not fit its architecture: blk.1.ffn_up.weight is missing (expected [64 96])"},
		{"a wrong shape", func(_ *gguf.Meta, ts tensors) tensors {
			w := &ts[index(ts, "blk.0.attn_norm.weight")]
			w.Shape, w.Data = []int64{32}, w.Data[:128]
			return ts
		}, arch.ErrTensors, "blk.0.attn_norm.weight has shape [32], expected [64]"},
		{"a type that is not read", func(_ *gguf.Meta, ts tensors) tensors {
			w := &ts[index(ts, "blk.0.attn_norm.weight")]
			w.Type, w.Data = 28, make([]byte, 512) // F64
			return ts
		}, nil, "quantization not supported yet: blk.0.attn_norm.weight is F64 (1 tensors); Ingot reads F32 F16"},
		{"513 layers", func(m *gguf.Meta, ts tensors) tensors { m.Set("qwen3.block_count", uint32(513)); return ts }, arch.ErrParameter, "qwen3.block_count is 513, expected 1 to 512"},
		{"more layers than tensors", func(m *gguf.Meta, ts tensors) tensors { m.Set("qwen3.block_count", uint32(5)); return ts }, arch.ErrTensors, "blk.4.attn_norm.weight is missing"},
		{"an unknown architecture", func(m *gguf.Meta, ts tensors) tensors { m.Set("general.architecture", "gpt9"); return ts }, arch.ErrUnknown, `unknown architecture "gpt9"`},
		{"an unknown tokenizer", func(m *gguf.Meta, ts tensors) tensors { m.Set("tokenizer.ggml.model", "other"); return ts }, nil, `"other" is not supported`},
		{"a template that does not parse", func(m *gguf.Meta, ts tensors) tensors {
			m.Set("tokenizer.chat_template", "{% if %}")
			return ts
		}, nil, "chat template"},
	} {
		path := tiny(t, "qwen3", c.change)
		e, err := Open(path, Options{})
		if err == nil {
			e.Close()
		}
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; expected %q", c.name, err, c.want)
		}
		i, err := Inspect(path)
		if err != nil || i.Problem == "" || i.CanThink {
			t.Errorf("%s: Inspect gives %v, problem %q", c.name, err, i.Problem)
		}
	}
}

func TestModelWithoutTemplateOrVocabulary(t *testing.T) {
	e, err := Open(tiny(t, "llama", nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if i := e.Info(); i.HasTemplate || i.CanThink || !i.NoVocab || i.Context != 128 {
		t.Errorf("%+v", i)
	}
	if err := refused(t, e, ask("", 1, user("a"))); !errors.Is(err, ErrNoTemplate) || !errors.Is(err, ErrNoVocabulary) {
		t.Error(err)
	}
	if err := refused(t, e, Request{Text: "a"}); !errors.Is(err, ErrNoVocabulary) || !errors.Is(err, ErrBadRequest) {
		t.Error(err)
	}
	if tokens, _, _, _ := answerTo(t, e, Request{Tokens: []int32{1, 2, 3}, MaxTokens: 5}); len(tokens) != 5 {
		t.Error(tokens)
	}
}

func TestSessionsOfTheFacade(t *testing.T) {
	e := openSample(t, Options{Context: 32})
	s, err := e.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Feed([]int32{1, int32(e.Info().Vocab)}, nil); !errors.Is(err, ErrBadRequest) || s.Len() != 0 {
		t.Errorf("%v, %d tokens", err, s.Len())
	}
	if err := s.Feed(make([]int32, 33), nil); !errors.Is(err, ErrPromptTooLong) || !strings.Contains(err.Error(), "33") || !strings.Contains(err.Error(), "32") {
		t.Error(err)
	}
	n := 0
	if err := s.FeedAll(make([]int32, 32), func(l []float32) { n++ }); err != nil || n != 32 || s.Len() != 32 {
		t.Errorf("%v, %d outputs, %d tokens", err, n, s.Len())
	}
	if err := s.Feed([]int32{1}, nil); !errors.Is(err, ErrPromptTooLong) {
		t.Error(err)
	}
	s.Close()
}

// Every reference model opens, answers, and answers the same again.
func TestReferenceModels(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "shared", "reference", "models", "*.gguf"))
	if len(paths) == 0 {
		t.Skip("no reference models beside the checkout")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if i, err := Inspect(path); err != nil || i.Problem != "" {
				t.Fatalf("%v, %q", err, i.Problem)
			}
			e, err := Open(path, Options{Context: 256, UBatch: 16})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			r := Request{Tokens: []int32{9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, MaxTokens: 6, IgnoreEOS: true}
			first, cold, _ := steps(t, e, r)
			again, warm, done := steps(t, e, r)
			if len(first) != 6 || !slices.Equal(first, again) {
				t.Errorf("%v, then %v with %d tokens held", first, again, done.Usage.Cached)
			}
			same(t, "the second time", cold, warm)
		})
	}
}
