package device

import (
	"fmt"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/engine/plan"
	"ingot/kernels/cpu"
)

// sync waits for the lane's stream.
func (l *simtLane) sync() error {
	if err := l.card.d.SyncWithin(l.stream, l.card.patience, l.watch); err != nil {
		l.failed = fmt.Errorf("%s: %w", l.card.name, err)
		return l.failed
	}
	return nil
}

func (l *simtLane) Run(b *Batch) error {
	return l.group.run(l, func() error {
		if l.failed != nil {
			return l.failed
		}
		if err := checkBatch(b, l.plan, &l.spec, l.hasState); err != nil {
			return err
		}
		return l.card.with(func() error { return l.settle(l.run(b)) })
	})
}

func (l *simtLane) run(b *Batch) error {
	l.k = l.best(b)
	p, err := l.program(len(b.Tokens), l.k > 0)
	if err != nil {
		return err
	}
	if l.group.library != nil {
		l.group.mu.Lock()
		l.group.running[l.index] = p
		l.group.mu.Unlock()
	}
	l.describe(b)
	l.rows = len(b.Tokens)
	for i := range l.embeds {
		if err := l.lookUp(&l.embeds[i], b.Tokens); err != nil {
			return err
		}
	}
	if err := p.start(b); err != nil {
		return fmt.Errorf("%s: %w", l.card.name, err)
	}
	if err := l.fetch(len(b.Outs)); err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return l.group.blame(l, err)
	}
	return p.timed()
}

// batchHead is the size of struct batch.
const batchHead = 48

// describe writes struct batch and its arrays: out, pos, seqs. Tokens stay on the host, which looks them up.
func (l *simtLane) describe(b *Batch) {
	at := uint64(l.build.at("batch"))
	outs := uint64(batchHead)
	pos := outs + uint64(l.plan.Options.Outs)*4
	seqs := pos + uint64(l.plan.Options.Rows)*4
	head := unsafe.Slice((*int32)(unsafe.Pointer(&l.batch[0])), 4)
	head[0], head[1], head[2], head[3] = int32(len(b.Tokens)), int32(len(b.Outs)), int32(len(b.Seqs)), int32(l.k)
	ptrs := unsafe.Slice((*uint64)(unsafe.Pointer(&l.batch[16])), 4)
	ptrs[0], ptrs[1], ptrs[2], ptrs[3] = 0, at+pos, at+outs, at+seqs
	copy(l.batch[outs:], bytesIn(b.Outs))
	positions := unsafe.Slice((*int32)(unsafe.Pointer(&l.batch[pos])), l.plan.Options.Rows)
	for _, s := range b.Seqs {
		for r := range s.Rows {
			positions[s.Row0+r] = s.Pos0 + r
		}
	}
	copy(l.batch[seqs:], bytesIn(b.Seqs))
}

// lookUp reads the rows of a table that the tokens choose. Tables are read a row at a time from where the file is mapped.
func (l *simtLane) lookUp(e *simtEmbed, tokens []int32) error {
	cols := int(e.w.Shape[0])
	for i, t := range tokens {
		if int64(t) < 0 || int64(t) >= e.src.count {
			return fmt.Errorf("token %d of %d", t, e.src.count)
		}
		if err := e.src.copy(l.row[:e.src.row], int64(t), 1); err != nil {
			return err
		}
		v := e.rows[i*cols : (i+1)*cols]
		if err := cpu.Dequantize(cpu.Type(e.src.typ), l.row[:e.src.row], v); err != nil {
			return fmt.Errorf("%s: %w", e.w.Name, err)
		}
		if e.scale != 1 {
			for j := range v {
				v[j] *= e.scale
			}
		}
	}
	return nil
}

// checkBatch refuses what a kernel would write outside of its memory for.
func checkBatch(b *Batch, p *plan.Plan, s *Spec, states bool) error {
	rows := len(b.Tokens)
	if rows > p.Options.Rows || len(b.Seqs) > max(s.Slots, 1) || len(b.Outs) > p.Options.Outs || len(b.Outs) > rows {
		return fmt.Errorf("batch of %d rows, %d sequences, %d outputs exceeds the plan's %d, %d, %d", rows, len(b.Seqs), len(b.Outs), p.Options.Rows, s.Slots, p.Options.Outs)
	}
	next := int32(0)
	for i, q := range b.Seqs {
		switch {
		case q.Row0 != next || q.Rows < 1 || int(q.Row0)+int(q.Rows) > rows:
			return fmt.Errorf("batch: sequence %d: rows %d+%d of %d, expected from %d", i, q.Row0, q.Rows, rows, next)
		case q.Slot < 0 || int(q.Slot) >= s.Slots || q.Pos0 < 0 || int(q.Pos0)+int(q.Rows) > s.Cells:
			return fmt.Errorf("batch: sequence %d: positions %d+%d of slot %d, where %d slots of %d cells are", i, q.Pos0, q.Rows, q.Slot, s.Slots, s.Cells)
		case states && (q.PlaneIn < -1 || int(q.PlaneIn) >= s.Planes || q.PlaneOut < 0 || int(q.PlaneOut) >= s.Planes):
			return fmt.Errorf("batch: sequence %d: planes %d and %d of %d", i, q.PlaneIn, q.PlaneOut, s.Planes)
		}
		next = q.Row0 + q.Rows
	}
	if int(next) != rows {
		return fmt.Errorf("batch: sequences have %d of %d rows", next, rows)
	}
	for i, o := range b.Outs {
		if o < 0 || int(o) >= rows || i > 0 && o <= b.Outs[i-1] {
			return fmt.Errorf("batch: output %d of %d rows, out of range or order", o, rows)
		}
	}
	return nil
}

func (l *simtLane) Hidden(i int) []float32 { return l.Value(l.plan.Hidden, i) }

func (l *simtLane) Value(at plan.Loc, r int) []float32 { return fetched[float32](l, at, r) }
func (l *simtLane) Indices(at plan.Loc, r int) []int32 { return fetched[int32](l, at, r) }

// fetched copies a row from the card. A card that has failed has none: zeros.
func fetched[T any](l *simtLane, at plan.Loc, r int) []T {
	v := make([]T, at.Cols())
	n := int64(len(v)) * 4
	if l.failed != nil || n == 0 {
		return v
	}
	l.card.with(func() error {
		host, err := l.room(n)
		if err == nil {
			err = l.card.d.Download(host, driver.Ptr(l.build.loc(at))+driver.Ptr(r*at.Stride*4), n, l.stream)
		}
		if err == nil {
			err = l.sync()
		}
		if err == nil {
			copy(v, unsafe.Slice((*T)(host), len(v)))
		}
		return err
	})
	return v
}

// Receive copies from card to card where both have one driver, otherwise through the host's memory.
func (l *simtLane) Receive(to plan.Loc, rows int, from Lane, at plan.Loc) error {
	n := int64(rows) * int64(to.Cols()) * 4
	if n == 0 {
		return nil
	}
	return l.card.with(func() error {
		dst, err := driver.Ptr(l.build.loc(to)), error(nil)
		if other, ok := from.(*simtLane); ok && other.card.d.Kind == l.card.d.Kind {
			src := driver.Ptr(other.build.loc(at))
			if other.card.index == l.card.index {
				err = l.card.d.Copy(dst, src, n, l.stream)
			} else {
				err = l.card.d.CopyPeer(dst, l.card.index, src, other.card.index, n, l.stream)
			}
		} else {
			var host unsafe.Pointer
			if host, err = l.room(n); err != nil {
				return err
			}
			all := unsafe.Slice((*float32)(host), n/4)
			for r := range rows {
				copy(all[r*to.Cols():], from.Value(at, r))
			}
			err = l.card.d.Upload(dst, host, n, l.stream)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.card.name, err)
		}
		return l.sync() // the other lane may go on
	})
}

func (l *simtLane) CopySlot(from, to, cells int) {
	l.card.with(func() error {
		for _, c := range l.caches {
			head := driver.Ptr(int64(c.cells) * c.size)
			for h := range c.heads {
				src, dst := driver.Ptr(from*c.heads+h)*head, driver.Ptr(to*c.heads+h)*head
				if err := l.card.d.Copy(c.at+dst, c.at+src, int64(cells)*c.size, l.stream); err != nil {
					l.failed = fmt.Errorf("%s: %w", l.card.name, err)
					return err
				}
			}
		}
		return l.sync()
	})
}
