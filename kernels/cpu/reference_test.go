package cpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The package knows no file format; this is as much of GGUF as a test needs to find the tensors of a good file.

type fileTensor struct {
	typ  Type
	n    int
	data []byte
}

type fileReader struct{ *bytes.Reader }

func (r fileReader) number(size int) (n uint64) {
	var b [8]byte
	io.ReadFull(r, b[:size])
	return binary.LittleEndian.Uint64(b[:])
}

func (r fileReader) text() string {
	b := make([]byte, r.number(8))
	io.ReadFull(r, b)
	return string(b)
}

func (r fileReader) skipValue(kind uint64) {
	sizes := []int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}
	switch kind {
	case 8:
		r.text()
	case 9:
		inner, n := r.number(4), r.number(8)
		for range n {
			r.skipValue(inner)
		}
	default:
		r.Seek(sizes[kind], io.SeekCurrent)
	}
}

func fileTensors(path string) (map[string]fileTensor, error) {
	all, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := fileReader{bytes.NewReader(all)}
	r.number(8)
	tensors, entries := r.number(8), r.number(8)
	for range entries {
		r.text()
		r.skipValue(r.number(4))
	}
	found, offsets := map[string]fileTensor{}, map[string]uint64{}
	for range tensors {
		name, t := r.text(), fileTensor{n: 1}
		for range r.number(4) {
			t.n *= int(r.number(8))
		}
		t.typ, offsets[name] = Type(r.number(4)), r.number(8)
		found[name] = t
	}
	start := (len(all) - r.Len() + 31) &^ 31
	for name, t := range found {
		values, size := t.typ.Block()
		if values == 0 {
			return nil, fmt.Errorf("%s: %s has type %d", path, name, t.typ)
		}
		t.data = all[start+int(offsets[name]):][:t.n/values*size]
		found[name] = t
	}
	return found, nil
}

func (t fileTensor) values(tb testing.TB) []float32 {
	v := make([]float32, t.n)
	if err := Dequantize(t.typ, t.data, v); err != nil {
		tb.Fatal(err)
	}
	return v
}

// Files that llama.cpp quantized from one BF16 file must come out close to that file: the error that a type makes on
// normally distributed weights is known, and a misread bit or scale makes it several times larger.
func TestDequantizeReferenceModels(t *testing.T) {
	models := filepath.Join("..", "..", "..", "shared", "reference", "models")
	original, err := fileTensors(filepath.Join(models, "qwen35-mini.BF16.gguf"))
	if err != nil {
		t.Skip(err)
	}
	// Relative root mean square errors, in thousandths.
	limits := map[Type][2]float64{
		Q8_0: {2, 8}, Q6_K: {10, 25}, Q5_K: {20, 45}, Q5_0: {25, 55}, Q5_1: {20, 50}, Q4_K: {45, 85}, Q4_0: {60, 110},
		Q4_1: {50, 100}, IQ4_NL: {50, 95}, IQ4_XS: {50, 95}, Q3_K: {90, 180}, Q2_K: {180, 400},
	}
	files, _ := filepath.Glob(filepath.Join(models, "qwen35-mini.*.gguf"))
	seen := map[Type]bool{}
	for _, file := range files {
		tensors, err := fileTensors(file)
		if err != nil {
			t.Fatal(err)
		}
		for name, tensor := range tensors {
			limit, quantized := limits[tensor.typ]
			if !quantized {
				continue
			}
			seen[tensor.typ] = true
			want, got := original[name].values(t), tensor.values(t)
			var diff, size float64
			for i := range want {
				d := float64(got[i] - want[i])
				diff += d * d
				size += float64(want[i]) * float64(want[i])
			}
			if e := 1000 * math.Sqrt(diff/size); !(e >= limit[0] && e <= limit[1]) {
				t.Errorf("%s: %s, %v: the error is %.1f thousandths, expected %v", filepath.Base(file), name, tensor.typ, e, limit)
			}
		}
	}
	var missing []Type
	for typ := range limits {
		if !seen[typ] {
			missing = append(missing, typ)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("no file has a tensor of %v", missing)
	}
}
