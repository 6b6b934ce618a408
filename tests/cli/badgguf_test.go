package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"ingot/engine/gguf"
	"ingot/engine/tensor"
)

// badGGUF writes a copy of the sample model with one thing wrong: badgguf KIND FILE.
func badGGUF(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: badgguf KIND FILE")
	}
	kind, path := args[0], ts.MkAbs(args[1])
	sample := ts.Getenv("SAMPLE")
	if kind == "truncated" || kind == "cut-header" {
		b, err := os.ReadFile(sample)
		ts.Check(err)
		n := len(b) / 2
		if kind == "cut-header" {
			n = 1000
		}
		ts.Check(os.WriteFile(path, b[:n], 0o644))
		return
	}
	f, err := gguf.Open(sample)
	ts.Check(err)
	defer f.Close()
	meta := gguf.NewMeta()
	for _, k := range f.Meta().Keys() {
		v, _ := f.Meta().Value(k)
		meta.Set(k, v)
	}
	var tensors []gguf.WriteTensor
	for _, t := range f.Tensors() {
		tensors = append(tensors, gguf.WriteTensor{Name: t.Name, Type: t.Type, Shape: t.Shape, Data: t.Data})
	}
	at := func(name string) *gguf.WriteTensor {
		for i := range tensors {
			if tensors[i].Name == name {
				return &tensors[i]
			}
		}
		ts.Fatalf("the sample model has no tensor %s", name)
		return nil
	}
	const norm, matrix = "blk.1.attn_norm.weight", "blk.1.ffn_up.weight"
	switch kind {
	case "copy":
	case "missing-tensor":
		t := at(norm)
		*t = tensors[len(tensors)-1]
		tensors = tensors[:len(tensors)-1]
	case "wrong-shape":
		t := at(norm)
		t.Shape, t.Data = []int64{t.Shape[0] / 2}, t.Data[:len(t.Data)/2]
	case "unknown-architecture":
		meta.Set("general.architecture", "frobnicator")
	case "no-architecture":
		meta.Delete("general.architecture")
	case "unsupported-quantization":
		t := at(matrix)
		t.Type = tensor.Type(16) // IQ2_XXS
		n, err := tensor.Bytes(t.Type, t.Shape)
		ts.Check(err)
		t.Data = make([]byte, n)
	case "513-layers":
		meta.Set("qwen35.block_count", uint32(513))
	case "wrong-key-type":
		meta.Set("qwen35.block_count", "four")
	case "no-tokenizer":
		for _, k := range meta.Keys() {
			if strings.HasPrefix(k, "tokenizer.") {
				meta.Delete(k)
			}
		}
	case "no-vocabulary":
		meta.Set("tokenizer.ggml.model", "no_vocab")
		meta.Delete("tokenizer.chat_template")
		meta.Set("qwen35.vocab_size", uint32(4096))
	case "no-template":
		meta.Delete("tokenizer.chat_template")
	case "template-loops":
		meta.Set("tokenizer.chat_template", "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}")
	case "template-wrong":
		meta.Set("tokenizer.chat_template", "{% for m in messages %}")
	case "first-of-three": // the other parts are not there
		meta.Set("split.no", uint16(0))
		meta.Set("split.count", uint16(3))
		meta.Set("split.tensors.count", int32(len(tensors)))
	default:
		if n, err := strconv.Atoi(strings.TrimPrefix(kind, "alignment-")); err == nil {
			writeRaw(ts, path, n)
			return
		}
		ts.Fatalf("unknown kind %q", kind)
	}
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	out, err := os.Create(path)
	ts.Check(err)
	defer out.Close()
	ts.Check(gguf.Write(out, meta, tensors))
}

// writeRaw writes a header that gguf.Write would refuse: an alignment that is no power of two.
func writeRaw(ts *testscript.TestScript, path string, alignment int) {
	const key = "general.alignment"
	b := []byte("GGUF\x03\x00\x00\x00" + strings.Repeat("\x00", 8) + "\x01" + strings.Repeat("\x00", 7))
	b = append(b, byte(len(key)), 0, 0, 0, 0, 0, 0, 0)
	b = append(append(b, key...), 4, 0, 0, 0, byte(alignment), 0, 0, 0)
	ts.Check(os.WriteFile(path, b, 0o644))
}
