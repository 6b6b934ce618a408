package quant

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ingot/engine/gguf"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
)

// shape names a tensor and its dimensions, fastest first.
type shape struct {
	name string
	dims []int64
}

// write makes a file of those tensors, F16 where they are matrices, with random values.
func write(t *testing.T, path string, keys map[string]any, shapes []shape) *gguf.File {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	m := gguf.NewMeta()
	m.Set("general.architecture", "qwen3")
	for k, v := range keys {
		m.Set(k, v)
	}
	var ts []gguf.WriteTensor
	for _, s := range shapes {
		typ := tensor.F16
		if len(s.dims) == 1 {
			typ = tensor.F32
		}
		n, err := tensor.Bytes(typ, s.dims)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
			if i%2 == 1 && typ == tensor.F16 || i%4 == 3 {
				b[i] = b[i]&0x83 | 0x20 // no exponent of ones
			}
		}
		ts = append(ts, gguf.WriteTensor{Name: s.name, Type: typ, Shape: s.dims, Data: b})
	}
	var b bytes.Buffer
	if err := gguf.Write(&b, m, ts); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// dense is a file of n layers whose rows have k values.
func dense(n int, k int64) []shape {
	s := []shape{{"token_embd.weight", []int64{k, 64}}, {"output.weight", []int64{k, 64}}, {"output_norm.weight", []int64{k}}}
	for i := range n {
		p := "blk." + strconv.Itoa(i) + "."
		s = append(s, shape{p + "attn_norm.weight", []int64{k}}, shape{p + "attn_q.weight", []int64{k, k}}, shape{p + "attn_k.weight", []int64{k, 64}},
			shape{p + "attn_v.weight", []int64{k, 64}}, shape{p + "attn_output.weight", []int64{k, k}},
			shape{p + "ffn_up.weight", []int64{k, k}}, shape{p + "ffn_down.weight", []int64{k, k}})
	}
	return s
}

func mustMix(t *testing.T, name string) Mix {
	t.Helper()
	m, err := ParseMix(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func keysOf(layers, heads, kv int) map[string]any {
	return map[string]any{"qwen3.block_count": uint32(layers), "qwen3.attention.head_count": uint32(heads), "qwen3.attention.head_count_kv": uint32(kv)}
}

// types lists what each tensor becomes.
func types(t *testing.T, f *gguf.File, o Options) map[string]string {
	t.Helper()
	steps, err := Choose(f, &o)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, s := range steps {
		m[s.Tensor.Name] = s.To.String()
	}
	return m
}

// of returns the types of a tensor in all layers, in one line.
func of(m map[string]string, layers int, name string) string {
	var all []string
	for i := range layers {
		all = append(all, m[strings.Replace("blk.N."+name, "N", strconv.Itoa(i), 1)])
	}
	return strings.Join(all, " ")
}

// What llama-quantize of August 2026 gives for files of these shapes.
func TestMixes(t *testing.T) {
	f := write(t, filepath.Join(t.TempDir(), "in.gguf"), keysOf(16, 16, 4), dense(16, 256))
	const n = 16
	run := func(parts ...any) string { // type, times, type, times ...
		var all []string
		for i := 0; i < len(parts); i += 2 {
			for range parts[i+1].(int) {
				all = append(all, parts[i].(string))
			}
		}
		return strings.Join(all, " ")
	}
	more := func(yes, no string) string { // the first and last eighth, and every third between
		var all []string
		for i := range n {
			if i < 2 || i >= 14 || i%3 == 1 {
				all = append(all, yes)
			} else {
				all = append(all, no)
			}
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		mix, output, embedding, q, v, out, down string
	}{
		{"Q4_K_M", "Q6_K", "Q4_K", "Q4_K", more("Q6_K", "Q4_K"), "Q4_K", more("Q6_K", "Q4_K")},
		{"Q4_K_S", "Q6_K", "Q4_K", "Q4_K", run("Q5_K", 4, "Q4_K", 12), "Q4_K", run("Q5_K", 2, "Q4_K", 14)},
		{"Q5_K_M", "Q6_K", "Q5_K", "Q5_K", more("Q6_K", "Q5_K"), "Q5_K", more("Q6_K", "Q5_K")},
		{"Q5_K_S", "Q6_K", "Q5_K", "Q5_K", run("Q5_K", 16), "Q5_K", run("Q5_K", 16)},
		{"Q3_K_M", "Q6_K", "Q3_K", "Q3_K", run("Q5_K", 2, "Q4_K", 14), "Q4_K", run("Q5_K", 1, "Q4_K", 15)},
		{"Q3_K_L", "Q6_K", "Q3_K", "Q3_K", run("Q5_K", 16), "Q5_K", run("Q5_K", 16)},
		{"Q3_K_S", "Q6_K", "Q3_K", "Q3_K", run("Q3_K", 16), "Q3_K", run("Q3_K", 16)},
		{"Q2_K", "Q6_K", "Q2_K", "Q2_K", run("Q4_K", 16), "Q3_K", run("Q3_K", 16)},
		{"Q2_K_S", "Q6_K", "Q2_K", "Q2_K", run("Q4_K", 16), "Q2_K", run("Q4_K", 2, "Q2_K", 14)},
		{"IQ4_XS", "Q6_K", "IQ4_XS", "IQ4_XS", run("Q5_K", 16), "IQ4_XS", run("Q5_K", 2, "IQ4_XS", 14)},
		{"IQ4_NL", "Q6_K", "IQ4_NL", "IQ4_NL", run("Q5_K", 16), "IQ4_NL", run("Q5_K", 2, "IQ4_NL", 14)},
		{"Q6_K", "Q6_K", "Q6_K", "Q6_K", run("Q6_K", 16), "Q6_K", run("Q6_K", 16)},
		{"Q8_0", "Q8_0", "Q8_0", "Q8_0", run("Q8_0", 16), "Q8_0", run("Q8_0", 16)},
		{"Q4_0", "Q6_K", "Q4_0", "Q4_0", run("Q4_0", 16), "Q4_0", run("Q4_0", 16)},
		{"MXFP4_MOE", "Q8_0", "Q8_0", "Q8_0", run("Q8_0", 16), "Q8_0", run("Q8_0", 16)},
		{"MXFP4", "Q6_K", "MXFP4", "MXFP4", run("MXFP4", 16), "MXFP4", run("MXFP4", 16)},
		{"BF16", "BF16", "BF16", "BF16", run("BF16", 16), "BF16", run("BF16", 16)},
		{"F32", "F32", "F32", "F32", run("F32", 16), "F32", run("F32", 16)},
	} {
		m := types(t, f, Options{Mix: mustMix(t, c.mix)})
		for _, w := range []struct{ what, got, want string }{
			{"output.weight", m["output.weight"], c.output}, {"token_embd.weight", m["token_embd.weight"], c.embedding},
			{"attn_q", m["blk.5.attn_q.weight"], c.q}, {"attn_v", of(m, n, "attn_v.weight"), c.v}, {"attn_output", m["blk.5.attn_output.weight"], c.out},
			{"ffn_down", of(m, n, "ffn_down.weight"), c.down}, {"norms", of(m, n, "attn_norm.weight"), run("F32", n)},
		} {
			if w.got != w.want {
				t.Errorf("%s: %s is %s, expected %s", c.mix, w.what, w.got, w.want)
			}
		}
	}
}

func TestExperts(t *testing.T) {
	keys := keysOf(8, 4, 2)
	keys["qwen3.expert_count"] = uint32(8)
	shapes := []shape{{"token_embd.weight", []int64{256, 64}}}
	for i := range 8 {
		p := "blk." + strconv.Itoa(i) + "."
		shapes = append(shapes, shape{p + "ffn_gate_inp.weight", []int64{256, 8}}, shape{p + "ffn_down_exps.weight", []int64{256, 64, 8}},
			shape{p + "ffn_down_shexp.weight", []int64{256, 64}}, shape{p + "attn_v.weight", []int64{256, 64}}, shape{p + "attn_k.weight", []int64{256, 64}},
			shape{p + "attn_output.weight", []int64{256, 64}}, shape{p + "ssm_conv1d.weight", []int64{256, 4}})
	}
	f := write(t, filepath.Join(t.TempDir(), "in.gguf"), keys, shapes)
	for mix, want := range map[string][]string{
		"Q4_K_M":    {"Q6_K", "Q6_K Q4_K Q4_K Q6_K Q4_K Q4_K Q6_K Q6_K", "Q6_K Q4_K Q4_K Q6_K Q4_K Q4_K Q6_K Q6_K", "Q8_0", "Q8_0", "Q5_K"},
		"MXFP4_MOE": {"Q8_0", "MXFP4 MXFP4 MXFP4 MXFP4 MXFP4 MXFP4 MXFP4 MXFP4", "Q8_0 Q8_0 Q8_0 Q8_0 Q8_0 Q8_0 Q8_0 Q8_0", "Q8_0", "Q8_0", "Q8_0"},
		"IQ4_XS":    {"Q6_K", "Q5_K IQ4_XS IQ4_XS IQ4_XS IQ4_XS IQ4_XS IQ4_XS IQ4_XS", "Q5_K IQ4_XS IQ4_XS IQ4_XS IQ4_XS IQ4_XS IQ4_XS IQ4_XS", "Q8_0", "Q8_0", "Q5_K"},
	} {
		m := types(t, f, Options{Mix: mustMix(t, mix)})
		got := []string{m["token_embd.weight"], of(m, 8, "ffn_down_exps.weight"), of(m, 8, "ffn_down_shexp.weight"), m["blk.2.attn_v.weight"],
			m["blk.2.attn_k.weight"], m["blk.2.attn_output.weight"]}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %q, expected %q", mix, got[i], want[i])
			}
		}
		for _, name := range []string{"blk.3.ffn_gate_inp.weight", "blk.3.ssm_conv1d.weight"} {
			if m[name] != "F16" {
				t.Errorf("%s: %s becomes %s", mix, name, m[name])
			}
		}
	}
}

// Rows that are not whole blocks take a type near the chosen one.
func TestFallbacks(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		k         int64
		mix, want string
		output    string
	}{
		{96, "Q4_K_S", "Q5_0", "Q8_0"}, {96, "Q5_K_S", "Q5_1", "Q8_0"}, {96, "Q6_K", "Q8_0", "Q8_0"}, {96, "Q2_K", "Q4_0", "Q8_0"}, {96, "Q3_K_S", "Q4_0", "Q8_0"},
		{96, "IQ4_XS", "IQ4_NL", "Q8_0"}, {96, "Q4_0", "Q4_0", "Q8_0"}, {96, "Q8_0", "Q8_0", "Q8_0"}, {72, "Q4_K_S", "F16", "F16"}, {72, "Q8_0", "F16", "F16"},
	} {
		f := write(t, filepath.Join(dir, strconv.Itoa(int(c.k))+c.mix), keysOf(8, 8, 8), dense(8, c.k))
		m := types(t, f, Options{Mix: mustMix(t, c.mix)})
		got, output := m["blk.5.attn_q.weight"], m["output.weight"]
		if c.mix == "Q4_0" {
			output = "Q8_0" // Q6_K falls back
		}
		if got != c.want || output != c.output {
			t.Errorf("%s of rows of %d: %s and %s, expected %s and %s", c.mix, c.k, got, output, c.want, c.output)
		}
	}
}

func TestOverrides(t *testing.T) {
	f := write(t, filepath.Join(t.TempDir(), "in.gguf"), keysOf(8, 8, 8), dense(8, 256))
	q8, q5 := tensor.Q8_0, tensor.Q5_K
	o := Options{Mix: mustMix(t, "q4_k_m"), Output: &q8, Embedding: &q5,
		Overrides: []Override{{regexp.MustCompile(`blk\.3\.`), tensor.F16}, {regexp.MustCompile(`attn_q`), tensor.Q3_K}}}
	m := types(t, f, o)
	for name, want := range map[string]string{"output.weight": "Q8_0", "token_embd.weight": "Q5_K", "blk.3.attn_q.weight": "F16",
		"blk.4.attn_q.weight": "Q3_K", "blk.4.ffn_up.weight": "Q4_K", "blk.3.attn_norm.weight": "F32"} {
		if m[name] != want {
			t.Errorf("%s is %s, expected %s", name, m[name], want)
		}
	}
	m = types(t, f, Options{Mix: o.Mix, Pure: true})
	for name, got := range m {
		if want := "Q4_K"; !strings.HasSuffix(name, "_norm.weight") && got != want {
			t.Errorf("pure: %s is %s", name, got)
		}
	}
	narrow := write(t, filepath.Join(t.TempDir(), "narrow.gguf"), keysOf(8, 8, 8), dense(8, 96))
	if _, err := Choose(narrow, &Options{Mix: o.Mix, Embedding: &q5}); err == nil || !strings.Contains(err.Error(), "token_embd.weight") {
		t.Errorf("Q5_K for rows of 96: %v", err)
	}
}

func TestMixNames(t *testing.T) {
	for _, n := range append(MixNames(), "q4_k_m", "Q4_K", "q5_k", "Q3_K") {
		if _, err := ParseMix(n); err != nil {
			t.Error(err)
		}
	}
	if m := mustMix(t, "Q3_K"); m.Name != "Q3_K_M" {
		t.Errorf("Q3_K is %s", m.Name)
	}
	if _, err := ParseMix("Q7_Z"); err == nil || !strings.Contains(err.Error(), "Q6_K") {
		t.Errorf("Q7_Z: %v", err)
	}
}

func stepsOf(t *testing.T, f *gguf.File, o *Options) []Step {
	t.Helper()
	steps, err := Choose(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// The bytes do not depend on the threads, nor on the level; metadata and untouched tensors stay.
func TestRun(t *testing.T) {
	keys := keysOf(4, 8, 8)
	keys["split.count"], keys["general.file_type"], keys["some.list"] = uint16(1), uint32(1), []string{"a", "b"}
	f := write(t, filepath.Join(t.TempDir(), "in.gguf"), keys, append(dense(4, 512), shape{"blk.0.ffn_up_exps.weight", []int64{512, 300, 4}}))
	var want []byte
	for _, threads := range []int{1, 2, 5} {
		for _, level := range cpu.Levels() {
			var seen int64
			o := &Options{Mix: mustMix(t, "Q4_K_M"), Threads: threads, Level: level}
			o.Progress = func(s Step, done, total int64) {
				if done <= seen || done > total {
					t.Fatalf("%d of %d bytes after %d", done, total, seen)
				}
				seen = done
			}
			var b bytes.Buffer
			if err := Run(t.Context(), f, stepsOf(t, f, o), &b, o); err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = b.Bytes()
			} else if !bytes.Equal(want, b.Bytes()) {
				t.Errorf("%d threads at %v give other bytes", threads, level)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "out.gguf")
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
	g, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	m := g.Meta()
	ft, _ := m.Value("general.file_type")
	qv, _ := m.Value("general.quantization_version")
	list, _ := m.Strings("some.list")
	if _, split := m.Value("split.count"); ft != uint32(15) || qv != uint32(2) || len(list) != 2 || split {
		t.Errorf("file type %v, quantization version %v, list %v, split %v", ft, qv, list, split)
	}
	for _, in := range f.Tensors() {
		out, ok := g.Tensor(in.Name)
		if !ok {
			t.Fatalf("%s is gone", in.Name)
		}
		if out.Type == in.Type && !bytes.Equal(out.Data, in.Data) {
			t.Errorf("%s is another", in.Name)
		}
		if out.Type != in.Type && rowError(t, &in, out) > 0.01 {
			t.Errorf("%s loses %g of its variance", in.Name, rowError(t, &in, out))
		}
	}
}

// A split file becomes one.
func TestSplitInput(t *testing.T) {
	dir := t.TempDir()
	shapes := dense(4, 256)
	whole := write(t, filepath.Join(dir, "whole.gguf"), keysOf(4, 8, 8), shapes)
	at, paths := 0, []string{filepath.Join(dir, "part-00001-of-00002.gguf"), filepath.Join(dir, "part-00002-of-00002.gguf")}
	for i, n := range []int{10, len(shapes)} {
		m := gguf.NewMeta()
		for _, k := range whole.Meta().Keys() {
			v, _ := whole.Meta().Value(k)
			m.Set(k, v)
		}
		m.Set("split.no", uint16(i))
		m.Set("split.count", uint16(2))
		m.Set("split.tensors.count", int32(len(shapes)))
		var ts []gguf.WriteTensor
		for ; at < n; at++ {
			w := whole.Tensors()[at]
			ts = append(ts, gguf.WriteTensor{Name: w.Name, Type: w.Type, Shape: w.Shape, Data: w.Data})
		}
		var b bytes.Buffer
		if err := gguf.Write(&b, m, ts); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[i], b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	parts, err := gguf.Open(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	defer parts.Close()
	o := &Options{Mix: mustMix(t, "Q5_K_M")}
	var want, got bytes.Buffer
	if err := errors.Join(Run(t.Context(), whole, stepsOf(t, whole, o), &want, o), Run(t.Context(), parts, stepsOf(t, parts, o), &got, o)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want.Bytes(), got.Bytes()) {
		t.Error("two parts give another file than one")
	}
	if err := WriteFile(t.Context(), parts, stepsOf(t, parts, o), paths[0], o); !errors.Is(err, ErrSameFile) {
		t.Errorf("over the first part: %v", err)
	}
}

// rowError is the mean squared error of a tensor as a share of its mean square.
func rowError(t *testing.T, a, b *gguf.Tensor) float64 {
	n, _ := tensor.Elements(a.Shape)
	x, y := make([]float32, n), make([]float32, n)
	for _, p := range []struct {
		t *gguf.Tensor
		v []float32
	}{{a, x}, {b, y}} {
		if err := cpu.Dequantize(cpu.Type(p.t.Type), p.t.Data, p.v); err != nil {
			t.Fatal(err)
		}
	}
	e, v := 0.0, 0.0
	for i := range x {
		d := float64(x[i] - y[i])
		e += d * d
		v += float64(x[i]) * float64(x[i])
	}
	return e / v
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.gguf")
	f := write(t, in, keysOf(2, 8, 8), dense(2, 256))
	o := &Options{Mix: mustMix(t, "Q4_K_S")}
	steps := stepsOf(t, f, o)
	once := filepath.Join(dir, "once.gguf")
	if err := WriteFile(t.Context(), f, steps, once, o); err != nil {
		t.Fatal(err)
	}

	link := filepath.Join(dir, "link.gguf")
	if err := os.Link(in, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{in, link} {
		if err := WriteFile(t.Context(), f, steps, path, o); !errors.Is(err, ErrSameFile) {
			t.Errorf("over %s: %v", path, err)
		}
	}
	if err := WriteFile(t.Context(), f, steps, dir, o); err == nil {
		t.Error("a folder is written over")
	}

	if err := WriteFile(t.Context(), f, steps, once, o); !errors.Is(err, ErrExists) {
		t.Errorf("over a file: %v", err)
	}
	over := *o
	over.Overwrite = true
	if err := WriteFile(t.Context(), f, steps, once, &over); err != nil {
		t.Errorf("over a file, with leave: %v", err)
	}

	alias := filepath.Join(dir, "alias.gguf")
	if err := os.Symlink(once, alias); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(t.Context(), f, steps, alias, &over); err != nil {
		t.Errorf("over a link, with leave: %v", err)
	}
	if to, err := os.Readlink(alias); err != nil || to != once {
		t.Errorf("the link leads to %q now: %v", to, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, ""} {
		if err := WriteFile(t.Context(), f, steps, path, &over); err == nil {
			t.Errorf("%q is written to", path)
		}
	}
	if st, err := os.Stat(pipe); err != nil || st.Mode().IsRegular() {
		t.Errorf("the pipe is %v now: %v", st, err)
	}

	g, err := gguf.Open(once)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	twice := filepath.Join(dir, "twice.gguf")
	q3 := &Options{Mix: mustMix(t, "Q3_K_S")}
	if err := WriteFile(t.Context(), g, stepsOf(t, g, q3), twice, q3); !errors.Is(err, ErrQuantized) {
		t.Errorf("a second time: %v", err)
	}
	if err := WriteFile(t.Context(), g, stepsOf(t, g, o), twice, o); err != nil {
		t.Errorf("the same types again: %v", err)
	}
	q3.Requantize, q3.Overwrite = true, true
	if err := WriteFile(t.Context(), g, stepsOf(t, g, q3), twice, q3); err != nil {
		t.Errorf("with leave: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(Step, int64, int64) { cancel() }
	gone := filepath.Join(dir, "gone.gguf")
	if err := WriteFile(ctx, f, steps, gone, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if _, err := os.Stat(gone); err == nil || len(left) > 0 {
		t.Errorf("what was cancelled left %v", left)
	}
}

// A value that is no number stops everything, and is named.
func TestNotANumber(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.gguf")
	f := write(t, path, keysOf(2, 8, 8), dense(2, 256))
	w, _ := f.Tensor("blk.1.ffn_up.weight")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[w.Offset+1000], b[w.Offset+1001] = 0, 0x7e
	if err := os.WriteFile(path+"2", b, 0o644); err != nil {
		t.Fatal(err)
	}
	g, err := gguf.Open(path + "2")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	o := &Options{Mix: mustMix(t, "Q8_0"), Threads: 2}
	err = WriteFile(t.Context(), g, stepsOf(t, g, o), path+"3", o)
	if err == nil || strings.Count(err.Error(), "blk.1.ffn_up.weight") != 1 || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path + "3"); err == nil {
		t.Error("a file was written")
	}
}
