//go:build linux || darwin

package gguf

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"ingot/engine/tensor"
)

// big writes a file of a few tensors, none of which begins on a page, and returns their data.
func big(t *testing.T) (path string, want map[string][]byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	want = map[string][]byte{}
	var ts []WriteTensor
	for _, name := range []string{"a", "b", "c"} {
		data := make([]byte, 4*(3<<20+100))
		for i := 0; i < len(data); i += 7 {
			data[i] = byte(r.Uint32())
		}
		want[name] = data
		ts = append(ts, WriteTensor{Name: name, Type: tensor.F32, Shape: []int64{int64(len(data) / 4)}, Data: data})
	}
	path = filepath.Join(t.TempDir(), "big.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMeta()
	m.Set("general.architecture", "none")
	if err := errors.Join(Write(f, m, ts), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path, want
}

func TestModes(t *testing.T) {
	path, want := big(t)
	for name, mode := range map[string]Mode{"mapped": Mapped, "buffered": Buffered, "direct": Direct} {
		t.Run(name, func(t *testing.T) {
			f, err := OpenAs(path, mode)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for name, w := range want {
				x, _ := f.Tensor(name)
				for _, r := range [][2]int{{5_000_001, 9_000_003}, {5_000_001, 5_000_002}, {len(w) - 5000, len(w)}, {7, 7}, {0, len(w)}} {
					part, want, dst := x.Data[r[0]:r[1]], w[r[0]:r[1]], make([]byte, r[1]-r[0])
					if err := f.Read(dst, part); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(dst, want) {
						t.Errorf("what is read of %s from %d to %d is not what was written", name, r[0], r[1])
					}
					if err := f.Need(part); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(part, want) {
						t.Errorf("%s from %d to %d is not what was written", name, r[0], r[1])
					}
				}
			}
		})
	}
}

// A file cut while it is read is an error; only mapped memory could fault.
func TestCutWhileRead(t *testing.T) {
	path, _ := big(t)
	for _, mode := range []Mode{Buffered, Direct} {
		f, err := OpenAs(path, mode)
		if err != nil {
			t.Fatal(err)
		}
		st, _ := os.Stat(path)
		if err := os.Truncate(path, st.Size()/2); err != nil {
			t.Fatal(err)
		}
		c, _ := f.Tensor("c")
		if err := f.Need(c.Data); !errors.Is(err, ErrTruncated) {
			t.Errorf("mode %d: %v, expected ErrTruncated", mode, err)
		}
		if err := f.Read(make([]byte, len(c.Data)), c.Data); !errors.Is(err, ErrTruncated) {
			t.Errorf("mode %d: %v, expected ErrTruncated", mode, err)
		}
		f.Close()
		if err := os.Truncate(path, st.Size()); err != nil {
			t.Fatal(err)
		}
	}
}

// A name that means another file by the time it is opened past the page cache does not lend that file's data to this one's header.
func TestAnotherFileInItsPlace(t *testing.T) {
	path, _ := big(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, _ := f.Stat()
	if past, err := openDirect(path); err != nil {
		t.Skip(err)
	} else {
		past.Close()
	}
	other, _ := big(t)
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if _, err := mapFile(f, path, st.Size(), Direct); err == nil {
		t.Error("the data of another file was taken")
	}
}
