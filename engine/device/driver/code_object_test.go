package driver

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// codeKernel is what a code object says of one of its kernels.
type codeKernel struct {
	name                   string
	vgprs, agprs, sgprs    int
	lds, private           int // bytes; private: a thread's scratch memory
	vgprSpills, sgprSpills int
	code                   []byte
}

var errCodeObject = errors.New("bad code object")

// codeKernels reads a code object of AMD's: an ELF file whose note holds, as MessagePack, a map with a list of kernels (LLVM's User Guide
// for AMDGPU Backend, Code Object V3 Metadata).
func codeKernels(image []byte) ([]codeKernel, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	section := f.Section(".note")
	if section == nil {
		return nil, fmt.Errorf("%w: no note", errCodeObject)
	}
	note, err := section.Data()
	if err != nil {
		return nil, err
	}
	if len(note) < 20 || binary.LittleEndian.Uint32(note[8:]) != 32 { // NT_AMDGPU_METADATA
		return nil, fmt.Errorf("%w: another kind of note", errCodeObject)
	}
	name, size := binary.LittleEndian.Uint32(note), binary.LittleEndian.Uint32(note[4:])
	at := 12 + (name+3)&^3
	if uint64(at)+uint64(size) > uint64(len(note)) {
		return nil, fmt.Errorf("%w: the note ends early", errCodeObject)
	}
	r := msgpack{b: note[at : at+size]}
	meta, ok := r.value().(map[string]any)
	if r.bad || !ok {
		return nil, fmt.Errorf("%w: the note is no MessagePack map", errCodeObject)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	list, _ := meta["amdhsa.kernels"].([]any)
	var kernels []codeKernel
	for _, k := range list {
		m, _ := k.(map[string]any)
		n := func(key string) int { v, _ := m[key].(int64); return int(v) }
		c := codeKernel{vgprs: n(".vgpr_count"), agprs: n(".agpr_count"), sgprs: n(".sgpr_count"), lds: n(".group_segment_fixed_size"),
			private: n(".private_segment_fixed_size"), vgprSpills: n(".vgpr_spill_count"), sgprSpills: n(".sgpr_spill_count")}
		c.name, _ = m[".name"].(string)
		for _, s := range symbols {
			if s.Name == c.name && elf.ST_TYPE(s.Info) == elf.STT_FUNC && int(s.Section) < len(f.Sections) {
				text := f.Sections[s.Section]
				code, err := text.Data()
				if err != nil {
					return nil, err
				}
				c.code = code[s.Value-text.Addr:][:s.Size]
			}
		}
		if c.name == "" || c.vgprs == 0 || len(c.code) == 0 {
			return nil, fmt.Errorf("%w: kernel %q has %d registers and %d bytes of code", errCodeObject, c.name, c.vgprs, len(c.code))
		}
		kernels = append(kernels, c)
	}
	return kernels, nil
}

// dots counts v_dot4_i32_i8 of gfx9 in code: VOP3P's opcode 40.
func (k *codeKernel) dots() (n int) {
	for i := 0; i+8 <= len(k.code); i += 4 {
		if binary.LittleEndian.Uint32(k.code[i:])>>16 == 0xd3a8 {
			n++
		}
	}
	return n
}

// msgpack reads what code objects use of MessagePack: maps with text keys, lists, texts, whole numbers, booleans.
type msgpack struct {
	b   []byte
	bad bool
}

func (r *msgpack) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad = true
		return make([]byte, min(max(n, 0), 8))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *msgpack) number(bytes int) int {
	n := uint64(0)
	for _, c := range r.take(bytes) {
		n = n<<8 | uint64(c)
	}
	return int(min(n, math.MaxInt64))
}

func (r *msgpack) text(n int) string { return string(r.take(n)) }

func (r *msgpack) list(n int) []any {
	var l []any
	for range n {
		if r.bad {
			break
		}
		l = append(l, r.value())
	}
	return l
}

func (r *msgpack) dict(n int) map[string]any {
	m := map[string]any{}
	for range n {
		if r.bad {
			break
		}
		key, _ := r.value().(string)
		m[key] = r.value()
	}
	return m
}

func (r *msgpack) value() any {
	switch c := r.take(1)[0]; {
	case c < 0x80:
		return int64(c)
	case c < 0x90:
		return r.dict(int(c & 15))
	case c < 0xa0:
		return r.list(int(c & 15))
	case c < 0xc0:
		return r.text(int(c & 31))
	case c == 0xc2 || c == 0xc3:
		return c == 0xc3
	case c >= 0xcc && c <= 0xcf:
		return int64(r.number(1 << (c - 0xcc)))
	case c >= 0xd9 && c <= 0xdb:
		return r.text(r.number(1 << (c - 0xd9)))
	case c == 0xdc || c == 0xdd:
		return r.list(r.number(2 << (c - 0xdc)))
	case c == 0xde || c == 0xdf:
		return r.dict(r.number(2 << (c - 0xde)))
	case c >= 0xe0:
		return int64(int8(c))
	}
	r.bad = true
	return nil
}
