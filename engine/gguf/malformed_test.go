package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ingot/engine/tensor"
)

// raw builds the bytes of a file without checking anything.
type raw struct{ b []byte }

func (r *raw) u8(v byte) *raw    { r.b = append(r.b, v); return r }
func (r *raw) u32(v uint32) *raw { r.b = binary.LittleEndian.AppendUint32(r.b, v); return r }
func (r *raw) u64(v uint64) *raw { r.b = binary.LittleEndian.AppendUint64(r.b, v); return r }
func (r *raw) str(s string) *raw { r.b = appendString(r.b, s); return r }
func (r *raw) zero(n int) *raw   { r.b = append(r.b, make([]byte, n)...); return r }

// start begins a version 3 file.
func start(tensors, keys uint64) *raw {
	r := &raw{b: []byte(magic)}
	return r.u32(3).u64(tensors).u64(keys)
}

// key begins a pair; its value follows.
func (r *raw) key(name string, t valueType) *raw { return r.str(name).u32(uint32(t)) }

// array begins a pair whose elements follow.
func (r *raw) array(name string, t valueType, n uint64) *raw {
	return r.key(name, typeArray).u32(uint32(t)).u64(n)
}

// tensor adds an entry of the tensor table.
func (r *raw) tensor(name string, t tensor.Type, offset uint64, shape ...uint64) *raw {
	r.str(name).u32(uint32(len(shape)))
	for _, n := range shape {
		r.u64(n)
	}
	return r.u32(uint32(t)).u64(offset)
}

// data pads to 32 and adds n zeros.
func (r *raw) data(n int) *raw { return r.zero(-len(r.b) & 31).zero(n) }

// cut takes the last n bytes away.
func (r *raw) cut(n int) *raw { r.b = r.b[:len(r.b)-n]; return r }

// malformed lists what a file may do wrong, the sentinel it gives and words its message must have.
var malformed = []struct {
	name string
	file *raw
	is   error
	says string
}{
	{"empty file", &raw{}, ErrNotGGUF, "it has 0 bytes"},
	{"three bytes", &raw{[]byte("GGU")}, ErrNotGGUF, "it has 3 bytes"},
	{"text", &raw{[]byte("version https://git-lfs.github.com/spec/v1\n")}, ErrNotGGUF, `not a GGUF file: it begins with "vers"`},
	{"older magic", &raw{[]byte("tjgg\x01\x00\x00\x00")}, ErrNotGGUF, `"tjgg"`},
	{"magic alone", &raw{[]byte(magic)}, ErrTruncated, "0 left"},
	{"version 0", (&raw{b: []byte(magic)}).u32(0).u64(0).u64(0), ErrUnsupported, "version 0"},
	{"version 1", (&raw{b: []byte(magic)}).u32(1).u32(0).u32(0), ErrUnsupported, "version 1"},
	{"version 4", (&raw{b: []byte(magic)}).u32(4).u64(0).u64(0), ErrUnsupported, "version 4"},
	{"big-endian", (&raw{b: []byte(magic)}).u32(3 << 24).u64(0).u64(1 << 56), ErrUnsupported, "big-endian"},
	{"no counts", (&raw{b: []byte(magic)}).u32(3).u64(0), ErrTruncated, "8 bytes or more needed"},

	{"tensor count above the limit", start(MaxTensors+1, 0).zero(1<<22 + 1), ErrMalformed, "65537 tensors, the limit is 65536"},
	{"tensor count of 64 bits", start(math.MaxUint64, 0), ErrMalformed, "18446744073709551615 tensors"},
	{"tensor count beyond the file", start(MaxTensors, 0), ErrTruncated, "65536 tensors"},
	{"key count above the limit", start(0, MaxKeys+1).zero(1 << 20), ErrMalformed, "65537 keys"},
	{"key count that is negative", start(0, 1<<63), ErrMalformed, "9223372036854775808 keys"},
	{"key count beyond the file", start(0, 100).zero(1000), ErrTruncated, "100 keys"},

	{"empty key", start(0, 1).key("", typeUint8).u8(1).zero(9), ErrMalformed, "key 0 is empty"},
	{"key longer than the limit", start(0, 1).key(strings.Repeat("k", MaxKey+1), typeUint8).u8(1), ErrMalformed, "65536 bytes, the limit is 65535"},
	{"key longer than the file", start(0, 1).u64(100).zero(50), ErrTruncated, "a string of 100 bytes"},
	{"key whose length wraps", start(0, 1).u64(math.MaxUint64 - 7).zero(50), ErrMalformed, "a string of 18446744073709551608 bytes"},
	{"key twice", start(0, 2).key("k", typeUint8).u8(1).key("k", typeUint8).u8(2), ErrMalformed, `key "k" stands twice`},
	{"key without a type", start(0, 1).str("12345678").zero(2), ErrTruncated, `key "12345678"`},
	{"unknown value type", start(0, 1).key("k", 13).u64(0), ErrMalformed, "unknown value type 13"},
	{"value type of 32 bits", start(0, 1).key("k", math.MaxUint32).u64(0), ErrMalformed, "unknown value type 4294967295"},
	{"value cut", start(0, 1).key("k", typeUint64).u32(0), ErrTruncated, `key "k"`},
	{"bool of 2", start(0, 1).key("k", typeBool).u8(2), ErrMalformed, "a bool is 0 or 1, not 2"},
	{"string longer than the file", start(0, 1).key("k", typeString).u64(9).zero(8), ErrTruncated, "a string of 9 bytes"},
	{"string longer than the limit", start(0, 1).key("k", typeString).u64(MaxString + 1), ErrMalformed, "the limit is 67108864"},
	{"string whose length wraps", start(0, 1).key("k", typeString).u64(math.MaxUint64), ErrMalformed, "18446744073709551615"},

	{"array of arrays", start(0, 1).array("k", typeArray, 1).u32(0).u64(0), ErrMalformed, "array of arrays"},
	{"array of an unknown type", start(0, 1).array("k", 99, 0), ErrMalformed, "unknown array element type 99"},
	{"array beyond the file", start(0, 1).array("k", typeUint32, 100).zero(399), ErrTruncated, "an array of 100 elements"},
	{"array of strings beyond the file", start(0, 1).array("k", typeString, 100).zero(799), ErrTruncated, "an array of 100 elements"},
	{"array whose bytes wrap", start(0, 1).array("k", typeUint64, 1<<61+1).zero(8), ErrMalformed, "2305843009213693953 elements"},
	{"array above the limit", start(0, 1).array("k", typeUint8, MaxArray+1), ErrMalformed, "the limit is 16777216"},
	{"array of bools with a 7", start(0, 1).array("k", typeBool, 2).u8(1).u8(7), ErrMalformed, "not 7"},
	{"array string beyond the file", start(0, 1).array("k", typeString, 2).str("a").u64(2).u8(0), ErrTruncated, "string 1 of 2"},
	{"array string that wraps", start(0, 1).array("k", typeString, 1).u64(math.MaxUint64), ErrMalformed, "string 0 of 1"},

	{"alignment 0", start(0, 1).key("general.alignment", typeUint32).u32(0), ErrMalformed, "general.alignment is 0"},
	{"alignment 3", start(0, 1).key("general.alignment", typeUint32).u32(3), ErrMalformed, "general.alignment is 3"},
	{"alignment 4", start(0, 1).key("general.alignment", typeUint32).u32(4), ErrMalformed, "general.alignment is 4"},
	{"alignment 48", start(0, 1).key("general.alignment", typeUint32).u32(48), ErrMalformed, "not a power of two"},
	{"alignment of 2 GiB", start(0, 1).key("general.alignment", typeUint32).u32(1 << 31), ErrMalformed, "2147483648"},
	{"negative alignment", start(0, 1).key("general.alignment", typeInt32).u32(0xffffffe0), ErrMalformed, "int32 -32"},
	{"alignment that is a string", start(0, 1).key("general.alignment", typeString).str("32"), ErrMalformed, "is string, expected an integer"},
	{"alignment that is an array", start(0, 1).array("general.alignment", typeUint32, 1).u32(32), ErrMalformed, "is []uint32"},

	{"tensor without a name", start(1, 0).tensor("", tensor.F32, 0, 1).data(4), ErrMalformed, "tensor 0 has no name"},
	{"tensor name above the limit", start(1, 0).tensor(strings.Repeat("n", 257), tensor.F32, 0, 1).data(4), ErrMalformed, "257 bytes"},
	{"tensor twice", start(2, 0).tensor("w", tensor.F32, 0, 1).tensor("w", tensor.F32, 32, 1).data(64), ErrMalformed, `two tensors are named "w"`},
	{"five dimensions", start(1, 0).tensor("w", tensor.F32, 0, 1, 1, 1, 1, 1).data(4), ErrMalformed, "5 dimensions"},
	{"2^32-1 dimensions", start(1, 0).str("w").u32(math.MaxUint32).zero(100), ErrMalformed, "4294967295 dimensions"},
	{"dimension 0", start(1, 0).tensor("w", tensor.F32, 0, 4, 0).data(4), ErrMalformed, "dimension 0"},
	{"dimension of 64 bits", start(1, 0).tensor("w", tensor.F32, 0, math.MaxUint64).data(4), ErrMalformed, "18446744073709551615"},
	{"elements that wrap to 0", start(1, 0).tensor("w", tensor.F32, 0, 1<<32, 1<<32).data(4), ErrMalformed, "more elements"},
	{"elements that wrap to 1", start(1, 0).tensor("w", tensor.F32, 0, 641, 28778071877862015).data(4), ErrMalformed, "more elements"},
	{"bytes that wrap", start(1, 0).tensor("w", tensor.F32, 0, 1<<31, 1<<31).data(4), ErrMalformed, "more bytes"},
	{"row that is no whole block", start(1, 0).tensor("w", tensor.Q4_K, 0, 255).data(144), ErrMalformed, "a row of 255 values"},
	{"scalar of a block type", start(1, 0).tensor("w", tensor.Q8_0, 0).data(34), ErrMalformed, "a row of 1 values"},
	{"unknown tensor type", start(1, 0).tensor("w", 77, 0, 32).data(128), ErrMalformed, "unknown type 77"},
	{"removed tensor type", start(1, 0).tensor("w", 4, 0, 32).data(128), ErrMalformed, "unknown type 4"},
	{"unaligned offset", start(1, 0).tensor("w", tensor.F32, 4, 1).data(36), ErrMalformed, "offset 4 is not a multiple"},
	{"offset against general.alignment", start(1, 1).key("general.alignment", typeUint32).u32(64).
		tensor("w", tensor.F32, 32, 1).data(128), ErrMalformed, "multiple of the alignment 64"},
	{"offset of 64 bits", start(1, 0).tensor("w", tensor.F32, 1<<63, 1).data(36), ErrMalformed, "offset 9223372036854775808"},
	{"offset that wraps", start(1, 0).tensor("w", tensor.F32, math.MaxInt64&^31, 1).data(36), ErrMalformed, "wraps"},
	{"end that wraps", start(1, 0).tensor("w", tensor.F32, 1<<63-1<<10, 1<<10).data(36), ErrMalformed, "wraps"},
	{"tensors that overlap", start(2, 0).tensor("a", tensor.F32, 0, 9).tensor("b", tensor.F32, 32, 1).data(64), ErrMalformed, `"a" and "b" overlap`},
	{"tensors in one place", start(2, 0).tensor("b", tensor.F32, 32, 1).tensor("a", tensor.F32, 32, 1).data(64), ErrMalformed, `overlap`},
	{"tensor table cut", start(1, 0).tensor("a-long-enough-name", tensor.F32, 0, 1, 1, 1).cut(5), ErrTruncated, `tensor "a-long-enough-name"`},
}

func TestMalformed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	for _, c := range malformed {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(path, c.file.b, 0o600); err != nil {
				t.Fatal(err)
			}
			for name, open := range map[string]func(string) (*File, error){"Open": Open, "OpenHeader": OpenHeader} {
				f, err := open(path)
				if err == nil {
					f.Close()
					t.Fatalf("%s accepts it", name)
				}
				if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), path) {
					t.Errorf("%s: %v\nexpected %v with %q", name, err, c.is, c.says)
				}
			}
		})
	}
}

// A file that claims much costs no more than a small multiple of its own bytes.
func TestMalformedIsCheap(t *testing.T) {
	for _, c := range malformed {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if h, err := readHeader(bytes.NewReader(c.file.b), int64(len(c.file.b))); err == nil {
			t.Errorf("%s: %+v", c.name, h)
		}
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(8*len(c.file.b)+64<<10); got > most {
			t.Errorf("%s: %d bytes allocated for a file of %d", c.name, got, len(c.file.b))
		}
	}
}

// A vocabulary is read in a few allocations, not one a token.
func TestManyStrings(t *testing.T) {
	const n = 100_000
	m := NewMeta()
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = strconv.Itoa(i)
	}
	m.Set("tokens", tokens)
	var buf bytes.Buffer
	if err := Write(&buf, m, nil); err != nil {
		t.Fatal(err)
	}
	var got *header
	allocs := testing.AllocsPerRun(3, func() {
		var err error
		if got, err = readHeader(bytes.NewReader(buf.Bytes()), int64(buf.Len())); err != nil {
			t.Fatal(err)
		}
	})
	if back, err := got.meta.Strings("tokens"); err != nil || !slices.Equal(back, tokens) {
		t.Errorf("%d strings come back, %v", len(back), err)
	}
	if allocs > 50 {
		t.Errorf("%v allocations for %d strings", allocs, n)
	}
}

// A well-formed file of the same builder opens, so the rows above fail for their own reasons.
func TestBuilderMakesGoodFiles(t *testing.T) {
	r := start(3, 3).key("general.alignment", typeUint64).u64(32).array("s", typeString, 2).str("a").str("").
		key("k", typeBool).u8(1).tensor("b", tensor.Q8_0, 64, 32).tensor("a", tensor.F32, 0, 4, 4).tensor("c", tensor.F16, 128).data(130)
	h, err := readHeader(bytes.NewReader(r.b), int64(len(r.b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.checkData(int64(len(r.b))); err != nil {
		t.Fatal(err)
	}
	if err := h.checkData(int64(len(r.b)) - 1); !errors.Is(err, ErrTruncated) || !strings.Contains(err.Error(), `1 bytes are missing (tensor "c"`) {
		t.Error(err)
	}
}

// Cut at any byte, a file gives an error, and after its tensor table OpenHeader reads it all the same.
func TestTruncatedAnywhere(t *testing.T) {
	r := start(1, 2).array("s", typeString, 2).str("a").str("bc").key("k", typeFloat64).u64(0).tensor("w", tensor.F32, 0, 4, 4)
	table := len(r.b)
	r.data(64)
	path := filepath.Join(t.TempDir(), "cut.gguf")
	for n := range len(r.b) {
		if err := os.WriteFile(path, r.b[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if want := ErrTruncated; n >= 4 && !errors.Is(err, want) || n < 4 && !errors.Is(err, ErrNotGGUF) {
			t.Errorf("%d bytes: %v", n, err)
		}
		f, err := OpenHeader(path)
		if (err == nil) != (n >= table) {
			t.Errorf("OpenHeader of %d bytes, the table ends at %d: %v", n, table, err)
		}
		if err == nil && (len(f.Tensors()) != 1 || f.Tensors()[0].Data != nil || f.Size() != int64(n)) {
			t.Errorf("OpenHeader of %d bytes: %+v", n, f.Tensors())
		}
	}
}

// Counts that a sparse file seems to back must not cost memory in proportion.
func TestSparseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse.gguf")
	if err := os.WriteFile(path, start(0, 2).array("k", typeUint8, MaxArray).b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	if _, err := Open(path); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "key 1 is empty") {
		t.Error(err)
	}
	d := newDecoder(bytes.NewReader(make([]byte, 100)), 100)
	d.limit = 50 // stands for MaxHeader
	if _, err := d.next(51); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "longer than 50 bytes") {
		t.Error(err)
	}
}

func TestNotARegularFile(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotGGUF) {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.gguf")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
