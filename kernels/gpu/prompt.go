package gpu

import (
	"fmt"
	"strings"
)

// Narrow is the most rows of a launch that take mat-vec kernels; more take the kernels for prompts.
const Narrow = 8

// A shape is the 16*m weight rows and 16*n vectors of a tile of the kernels for prompts.
type tileShape struct{ m, n int }

// tileShapes are those that lib/tile.h is compiled for, or lib/tile_mma.h. What is loaded of packed blocks takes more registers, which leaves
// room for smaller tiles only.
func tileShapes(weight string, mma bool) []tileShape {
	blocks := strings.HasSuffix(weight, "_blocks")
	switch {
	case mma && blocks:
		return []tileShape{{8, 4}, {8, 2}}
	case mma:
		return []tileShape{{8, 8}, {8, 4}, {8, 2}, {4, 4}}
	case blocks:
		return []tileShape{{4, 4}, {4, 2}}
	}
	return []tileShape{{8, 4}, {8, 2}, {4, 4}, {4, 2}}
}

func (s tileShape) String() string { return fmt.Sprintf("%dx%d", s.m, s.n) }

// tileFor chooses the shape whose tiles take least time: of m rows, and of the numbers of vectors that groups have, one group for each
// expert. Units work on two tiles at once; what a tile reads and unpacks counts beside what it multiplies.
func tileFor(c Card, weight string, m, groups, vectors int) tileShape {
	var best tileShape
	least := 0
	for _, s := range tileShapes(weight, c.MMA) {
		blocks := over(m, 16*s.m) * groups * over(vectors, 16*s.n)
		if cost := over(blocks, 2*max(c.Units, 1)) * (s.m*s.n + 2*(s.m+s.n)); least == 0 || cost < least {
			best, least = s, cost
		}
	}
	return best
}

// promptModule is the module of a kernel for prompts with tiles of a shape, and its entry point.
func promptModule(c Card, family string, t Type, weight string, s tileShape) (Module, string) {
	mma := ""
	if c.MMA && t != F32 { // in F32 matrix units would round
		mma = "_mma"
	}
	entry := fmt.Sprintf("%s%s_%s_%v", family, mma, weight, s)
	if t.plain() {
		return Module{File: "product" + mma + "_plain.gpu", Weight: weight}, entry
	}
	return Module{File: family + mma + ".gpu", Weight: weight, Defines: s.defines()}, entry
}

func (s tileShape) defines() string { return fmt.Sprintf("TM=%d TN=%d", s.m, s.n) }

// prompt multiplies more rows than mat-vec kernels take.
func (a Matmul) prompt(c Card, weight string, vectors int) (Launch, error) {
	s := tileShape{8, 4}
	if !a.Type.plain() {
		s = tileFor(c, weight, int(a.M), 1, vectors)
	}
	m, entry := promptModule(c, "product", a.Type, weight, s)
	l := launch(m, entry, over(int(a.M), 16*s.m), over(vectors, 16*s.n), 1, &a.MatmulArgs)
	return l, l.fits()
}

// GroupArgs mirror group_args: Order = the batch's slots by expert, and the tiles that the kernels for prompts take.
type GroupArgs struct {
	Batch, IDs, Order      Ptr
	Experts, Used, Tile, _ int32
}

// smallestTile is the fewest slots of a tile: of a residual, two vectors a slot.
const smallestTile = 16

// OrderBytes is the room that the kernels for prompts need to order the slots of so many rows.
func OrderBytes(rows, used, experts int) int64 {
	slots := int64(rows) * int64(used)
	return 4 * (slots + 1 + 3*(slots/smallestTile+min(slots, int64(experts))))
}

// prompt groups the slots by expert and multiplies each expert's together.
func (a Experts) prompt(c Card, weight string, rows int) ([]Launch, error) {
	if a.Experts > 1024 {
		return nil, fmt.Errorf("%d experts, and slots are grouped by at most 1024", a.Experts)
	}
	if a.Order == 0 {
		return nil, fmt.Errorf("experts of %d rows without room to order their slots", rows)
	}
	slots, parts := rows*int(a.Used), 1
	s := tileShape{8, 4}
	groups := min(int(a.Experts), slots)
	if !a.Type.plain() {
		parts += int(a.Residual)
		s = tileFor(c, weight, int(a.M), groups, over(slots, groups)*parts)
	}
	tile := 16 * s.n / parts
	g := GroupArgs{Batch: a.Batch, IDs: a.IDs, Order: a.Order, Experts: a.Experts, Used: a.Used, Tile: int32(tile)}
	order := launch(Module{File: "group.gpu"}, "group", int(a.Experts), 1, 1, &g)
	if err := order.fits(); err != nil {
		return nil, err
	}
	m, entry := promptModule(c, "experts", a.Type, weight, s)
	list, err := inTurn(a.W, a.Up, func(w, up Ptr) (Launch, error) {
		b := a.ExpertsArgs
		b.W, b.Up = w, up
		l := launch(m, entry, over(int(a.M), 16*s.m), slots/tile+groups, 1, &b)
		return l, l.fits()
	})
	return append([]Launch{order}, list...), err
}
