package gpu

import (
	"fmt"
	"slices"
	"strings"
)

// CacheTypes are the element types of a KV cache.
var CacheTypes = []Type{F32, F16, BF16, Q8_0, Q4_0}

// cached returns an error for a cache that no kernel takes.
func cached(dim int, keys, values Type) error {
	for _, t := range []Type{keys, values} {
		if !slices.Contains(CacheTypes, t) {
			return fmt.Errorf("%w: a KV cache of %v", ErrUnsupported, t)
		}
		if dim%types[t].values != 0 {
			return fmt.Errorf("a KV cache of %v with heads of %d values, which are no whole blocks", t, dim)
		}
	}
	return nil
}

// Attention is causal attention of each row over its slot's cells, grouped-query, times sigmoid of a gate where set.
// Where Sections > 1, Part holds AttentionPart floats.
type Attention struct {
	AttentionArgs
	Type, VType Type // of CacheTypes: keys, values
	Dim         int  // of a head, a multiple of 8; of 32 for Q8_0 and Q4_0
}

// AttentionArgs mirror attention_args.
type AttentionArgs struct {
	Batch, Q, KC, VC, Gate, Sinks           Ptr // Gate, Sinks: may be 0
	Dst, Part                               Ptr
	QStride, QGap, GStride, GGap, DStride   int64
	Heads, KVHeads, Cells, Window, Sections int32
	Scale, Cap                              float32
	_                                       int32
}

// AttentionSections is how many blocks share the cells of a row in a program for at most so many rows: many where the rows
// alone would not keep a card busy, 1 for prompts.
func AttentionSections(rows, heads, kvHeads int) int32 {
	if rows > 16 || heads/kvHeads > 32 {
		return 1
	}
	return 32
}

// AttentionPart is the floats of Part that a program for so many rows needs; all layers may share it.
func AttentionPart(rows, heads, dim int, sections int32) int {
	if sections == 1 {
		return 0
	}
	return rows * heads * int(sections) * (dim + 2)
}

// Launch attends with up to so many rows of so many sequences: one kernel, or two that follow each other.
func (a Attention) Launch(_ Card, rows, seqs int) ([]Launch, error) {
	if err := cached(a.Dim, a.Type, a.VType); err != nil {
		return nil, err
	}
	group := int(a.Heads / a.KVHeads)
	m, entry, pieces := a.decode(group), "attention_decode", rows
	if m.File == "" {
		t, err := a.tile(group)
		if err != nil {
			return nil, err
		}
		m, entry = Module{File: "attention.gpu", Defines: a.defines(t)}, "attention"
		if each := t.queries / group; each > 1 && a.Sections == 1 {
			pieces = rows/each + seqs
		}
	}
	list := []Launch{launch(m, entry, int(a.Sections), int(a.KVHeads), pieces, &a.AttentionArgs)}
	if a.Sections > 1 {
		list = append(list, launch(m, "attention_join", int(a.Heads), rows, 1, &a.AttentionArgs))
	}
	for _, l := range list {
		if err := l.fits(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// decode is the module for a few rows, of the shapes that attention_decode.gpu takes; none for others.
func (a *Attention) decode(group int) Module {
	if a.Sections == 1 || a.Dim != 64 && a.Dim != 128 && a.Dim != 256 || group > 16 {
		return Module{}
	}
	queries := 4
	for queries < group {
		queries *= 2
	}
	return Module{File: "attention_decode.gpu", Defines: fmt.Sprintf("DIM=%d KT=%d VT=%d QUERIES=%d", a.Dim, a.Type, a.VType, queries)}
}

// attentionTile is what a block works on at a time.
type attentionTile struct{ queries, cells int }

// Tiles in order of preference.
var (
	promptTiles = []attentionTile{{32, 32}, {16, 32}, {16, 16}, {8, 32}, {8, 16}}
	decodeTiles = []attentionTile{{4, 64}, {8, 64}, {8, 32}, {8, 16}, {16, 64}, {16, 32}, {16, 16}, {32, 32}}
)

// tile picks the first tile that holds the heads of a kv head and leaves room for two blocks in a compute unit's LDS, or
// else for one; NVIDIA's compiler gives a block 48 KB.
func (a *Attention) tile(group int) (attentionTile, error) {
	if a.Dim < 8 || a.Dim%8 != 0 {
		return attentionTile{}, fmt.Errorf("attention with heads of %d values, where multiples of 8 are possible", a.Dim)
	}
	tiles := promptTiles
	if a.Sections > 1 {
		tiles = decodeTiles
	}
	for _, room := range []int{32 << 10, 48 << 10} {
		for _, t := range tiles {
			if t.queries >= group && a.lds(t) <= room {
				return t, nil
			}
		}
	}
	return attentionTile{}, fmt.Errorf("attention with %d heads of %d values to a kv head, which do not fit into LDS", group, a.Dim)
}

// lds is the bytes that attention.gpu declares for a tile.
func (a *Attention) lds(t attentionTile) int {
	words, scales := a.Dim/2+4, 1
	if a.Type == F32 || a.VType == F32 {
		words = a.Dim + 4
	}
	if types[a.Type].values > 1 || types[a.VType].values > 1 {
		scales = a.Dim / 32
	}
	return 4 * (t.queries*a.Dim + t.cells*(words+scales) + t.queries*(t.cells+4) + 3*t.queries)
}

func (a *Attention) defines(t attentionTile) string {
	return fmt.Sprintf("DIM=%d KT=%d VT=%d QUERIES=%d CELLS=%d", a.Dim, a.Type, a.VType, t.queries, t.cells)
}

// attentionDefines lists the shapes of usual models that attention.gpu, or attention_decode.gpu, is compiled for.
func attentionDefines(decode bool) []string {
	var all []string
	for _, shape := range []struct{ dim, group int }{{128, 4}, {64, 8}, {80, 1}, {128, 8}, {256, 4}, {256, 16}, {512, 8}} {
		for i, t := range [][2]Type{{F16, F16}, {Q8_0, Q8_0}, {Q4_0, Q4_0}, {BF16, BF16}, {F32, F32}} {
			if i > 0 && shape.dim != 128 {
				break
			}
			for _, sections := range []int32{1, 32} {
				a := Attention{Dim: shape.dim, Type: t[0], VType: t[1], AttentionArgs: AttentionArgs{Sections: sections}}
				if cached(a.Dim, a.Type, a.VType) != nil {
					continue
				}
				defines := a.decode(shape.group).Defines
				if tile, err := a.tile(shape.group); err == nil && defines == "" {
					defines = a.defines(tile)
				}
				if strings.Contains(defines, "CELLS") != decode && !slices.Contains(all, defines) {
					all = append(all, defines)
				}
			}
		}
	}
	return all
}
