package gguf

import (
	"os"
	"path/filepath"
	"testing"
)

// references returns the model files of the reference data, which a plain clone does not have.
func references(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"models", "vocab", "sample"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "reference", dir, "*.gguf"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	if len(all) == 0 {
		t.Skip("no reference data beside the repository")
	}
	return all
}

func TestReferenceFiles(t *testing.T) {
	for _, path := range references(t) {
		f, err := Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		arch, err := f.Meta().String("general.architecture")
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		st, err := os.Stat(path)
		if err != nil || st.Size() != f.Size() {
			t.Errorf("%s: Size %d, stat says %d, %v", path, f.Size(), st.Size(), err)
		}
		sum := 0
		for i := range f.Tensors() {
			w := &f.Tensors()[i]
			if int64(len(w.Data)) != w.Bytes() || w.Bytes() == 0 {
				t.Errorf("%s: %s has %d bytes mapped, %d packed", path, w.Name, len(w.Data), w.Bytes())
			}
			sum += int(w.Data[0]) + int(w.Data[len(w.Data)-1])
			if got, ok := f.Tensor(w.Name); !ok || got != w {
				t.Errorf("%s: Tensor(%q) is %v", path, w.Name, got)
			}
		}
		tokens, err := f.Meta().Strings("tokenizer.ggml.tokens")
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		t.Logf("%-32s %-10s %2d keys %3d tensors %6d tokens", filepath.Base(path), arch, len(f.Meta().Keys()), len(f.Tensors()), len(tokens))
		h, err := OpenHeader(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Tensors()) != len(f.Tensors()) || h.Size() != f.Size() {
			t.Errorf("%s: OpenHeader sees %d tensors of %d", path, len(h.Tensors()), len(f.Tensors()))
		}
		for i, w := range h.Tensors() {
			if w.Data != nil || w.Offset != f.Tensors()[i].Offset {
				t.Errorf("%s: OpenHeader: %s", path, w.Name)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if len(f.Tensors()) > 0 && f.Tensors()[0].Data != nil {
			t.Errorf("%s: data is still reachable after Close", path)
		}
		if n := len(tokens); n == 0 || tokens[n-1] == "" && tokens[n/2] == "" {
			t.Errorf("%s: tokens are gone after Close", path)
		}
	}
}
