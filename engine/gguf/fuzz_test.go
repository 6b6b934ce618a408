package gguf

import (
	"bytes"
	"os"
	"testing"

	"ingot/engine/tensor"
)

// What is read can be written, and reads back as the same: the second writing equals the first, byte for byte.
func FuzzReadWrite(f *testing.F) {
	for _, c := range malformed {
		if len(c.file.b) < 4096 {
			f.Add(c.file.b)
		}
	}
	small := everything()
	for _, k := range []string{"long", "many", "[]s"} {
		small.Delete(k)
	}
	small.Set("[]s", []string{"", "a", "bc"})
	var seed bytes.Buffer
	if err := Write(&seed, small, []WriteTensor{
		{Name: "a", Type: tensor.F32, Shape: []int64{3, 5}, Data: fill(60, 1)},
		{Name: "b", Type: tensor.Q8_0, Shape: []int64{32, 1, 2}, Data: fill(68, 2)},
	}); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := readHeader(bytes.NewReader(file), int64(len(file)))
		if err != nil || h.checkData(int64(len(file))) != nil {
			return
		}
		first := rewrite(t, h, file)
		if again := reread(t, first); !bytes.Equal(again, first) {
			t.Errorf("written twice:\n%q\n%q", first, again)
		}
	})
}

// rewrite writes the metadata and tensors that h found in file.
func rewrite(t *testing.T, h *header, file []byte) []byte {
	t.Helper()
	var ts []WriteTensor
	for i := range h.tensors {
		w := &h.tensors[i]
		ts = append(ts, WriteTensor{Name: w.Name, Type: w.Type, Shape: w.Shape, Data: file[w.Offset : w.Offset+w.Bytes()]})
	}
	var out bytes.Buffer
	if err := Write(&out, h.meta, ts); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// reread reads file, which Write made, and writes it again.
func reread(t *testing.T, file []byte) []byte {
	t.Helper()
	h, err := readHeader(bytes.NewReader(file), int64(len(file)))
	if err == nil {
		err = h.checkData(int64(len(file)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return rewrite(t, h, file)
}

// The reference files are rewritten as they are: llama.cpp's writer lays files out the same way.
func TestRewriteReferenceFiles(t *testing.T) {
	for _, path := range references(t) {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := readHeader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if out := rewrite(t, h, file); !bytes.Equal(out, file) {
			t.Errorf("%s: %d bytes become %d", path, len(file), len(out))
		}
	}
}
