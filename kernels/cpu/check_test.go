package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// One harness checks every kernel: each level against the plain meaning (a float64 computation in Go), thread counts
// 1 to 3 against each other bit for bit, each row alone against the row in its batch bit for bit, and all memory that
// is not output against what it was.

// arena is memory with an inaccessible page behind it. Buffers are taken from its end downwards, so the first one
// taken ends where reading on faults; whatever is not a buffer holds NaNs.
type arena struct {
	mem *Memory
	top int64
	rng *rand.Rand
}

const arenaBytes = 12 << 20

// arenaMemory is made once; each arena leaves it full of NaNs.
var arenaMemory = sync.OnceValues(func() (*Memory, error) {
	m, err := Alloc(arenaBytes + int64(syscall.Getpagesize()))
	if err != nil {
		return nil, err
	}
	spoil(m.Bytes()[:arenaBytes])
	return m, syscall.Mprotect(m.Bytes()[arenaBytes:], syscall.PROT_NONE)
})

func spoil(mem []byte) {
	for i := range mem {
		mem[i] = 0xff
	}
}

// newArena returns the arena, empty; one test uses it at a time.
func newArena(t testing.TB, seed uint64) *arena {
	m, err := arenaMemory()
	if err != nil {
		t.Fatal(err)
	}
	a := &arena{mem: m, top: arenaBytes, rng: rand.New(rand.NewPCG(seed, 7))}
	t.Cleanup(func() { spoil(a.all()) })
	return a
}

// all is the buffers taken so far and some NaNs below them.
func (a *arena) all() []byte { return a.mem.Bytes()[a.low():arenaBytes] }

func (a *arena) low() int64 { return max(0, a.top-4096) }

// kind is how the values of an output are compared.
type kind int

const (
	floats   kind = iota // with the case's tolerance
	integers             // 32 bits, exactly
	words                // 16 bits, exactly
)

// region is a run of values in the arena.
type region struct {
	off, n int64
	kind   kind
}

func (a *arena) take(n int64, size int64, k kind) region {
	a.top -= n * size
	if a.top < 0 {
		panic("arena is full")
	}
	a.top &^= size - 1
	return region{a.top, n, k}
}

// f takes n floats drawn from a normal distribution of that deviation.
func (a *arena) f(n int, deviation float64) region {
	r := a.take(int64(n), 4, floats)
	for i := range a.f32(r) {
		a.f32(r)[i] = float32(a.rng.NormFloat64() * deviation)
	}
	return r
}

// empty takes n floats and leaves them NaN.
func (a *arena) empty(n int) region { return a.take(int64(n), 4, floats) }

func (a *arena) ptr(r region) unsafe.Pointer { return a.mem.At(r.off) }
func (a *arena) f32(r region) []float32      { return unsafe.Slice((*float32)(a.ptr(r)), r.n) }
func (a *arena) i32(r region) []int32        { return unsafe.Slice((*int32)(a.ptr(r)), r.n) }
func (a *arena) u16(r region) []uint16       { return unsafe.Slice((*uint16)(a.ptr(r)), r.n) }

// part returns n values of r from value i on.
func (r region) part(i, n int) region {
	size := int64(4)
	if r.kind == words {
		size = 2
	}
	return region{r.off + int64(i)*size, int64(n), r.kind}
}

// kase is one kernel call with what it must leave behind.
type kase struct {
	args  Args
	batch *Batch
	// rows names the argument fields that point to rows, with the bytes of a row, so that one row can be run alone.
	rows    map[string]int64
	outs    []region
	want    []float64 // of all outs, one after the other
	scratch []region
	tol     float64 // |got - want| <= tol * (1 + |want|)
}

// expect adds an output region and its plain meaning.
func (k *kase) expect(r region, want []float64) {
	if int(r.n) != len(want) {
		panic(fmt.Sprintf("%d values expected in a region of %d", len(want), r.n))
	}
	k.outs = append(k.outs, r)
	k.want = append(k.want, want...)
}

// check runs the case at every level that has a kernel of its own.
func (a *arena) check(t *testing.T, k *kase) {
	t.Helper()
	before := bytes.Clone(a.all())
	for _, level := range Levels() {
		p := NewProgram(level)
		if err := p.Add(k.args); err != nil {
			t.Fatal(err)
		}
		if p.infos[0].level != level {
			p.Free()
			continue
		}
		var first []byte
		for threads := 1; threads <= 3; threads++ {
			copy(a.all(), before)
			teams[threads].Run(p, k.batch)
			got := bytes.Clone(a.all())
			if threads == 1 {
				first = got
				a.compare(t, k, level)
				a.untouched(t, k, level, before)
			} else if i := a.differ(k, got, first); i >= 0 {
				t.Errorf("%v with %d threads: output value %d is not the bits of one thread\n%v", level, threads, i, p)
			}
		}
		p.Free()
		if k.rows != nil {
			copy(a.all(), before)
			a.alone(t, k, level)
			if i := a.differ(k, a.all(), first); i >= 0 {
				t.Errorf("%v: output value %d depends on the other rows\n%+v", level, i, k.args)
			}
		}
		copy(a.all(), before)
		if t.Failed() {
			t.FailNow()
		}
	}
}

// teams are shared by all tests, by number of threads.
var teams = []*Team{nil, NewTeam(1), NewTeam(2), NewTeam(3)}

func (a *arena) compare(t *testing.T, k *kase, level Level) {
	t.Helper()
	i := 0
	for o, r := range k.outs {
		for j := range int(r.n) {
			var got float64
			switch r.kind {
			case integers:
				got = float64(a.i32(r)[j])
			case words:
				got = float64(a.u16(r)[j])
			default:
				got = float64(a.f32(r)[j])
			}
			want, tol := k.want[i], k.tol
			if r.kind != floats {
				tol = 0
			}
			if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
				t.Fatalf("%v: value %d of output %d is %v, expected %v\n%+v", level, j, o, got, want, k.args)
			}
			i++
		}
	}
}

// untouched checks every byte outside outputs and scratch.
func (a *arena) untouched(t *testing.T, k *kase, level Level, before []byte) {
	t.Helper()
	after := bytes.Clone(a.all())
	for _, r := range slices.Concat(k.outs, k.scratch) {
		from, to := r.off-a.low(), r.part(int(r.n), 0).off-a.low()
		copy(after[from:to], before[from:to])
	}
	if !bytes.Equal(after, before) {
		for i := range after {
			if after[i] != before[i] {
				t.Fatalf("%v wrote outside its outputs, at byte %d\n%+v", level, i, k.args)
			}
		}
	}
}

// differ returns the number of the first output value whose bits differ, or -1.
func (a *arena) differ(k *kase, x, y []byte) int {
	n := 0
	for _, r := range k.outs {
		from, to := r.off-a.low(), r.part(int(r.n), 0).off-a.low()
		if !bytes.Equal(x[from:to], y[from:to]) {
			for i := range int(r.n) {
				from, to := r.part(i, 0).off-a.low(), r.part(i+1, 0).off-a.low()
				if !bytes.Equal(x[from:to], y[from:to]) {
					return n + i
				}
			}
		}
		n += int(r.n)
	}
	return -1
}

// alone runs the case a row at a time, each sequence going on where its last row stopped.
func (a *arena) alone(t *testing.T, k *kase, level Level) {
	t.Helper()
	b := NewBatch(1, 1)
	defer b.Free()
	rows, outs := k.batch.Rows(), len(k.batch.Outs())
	field := reflect.ValueOf(k.args).Elem().FieldByName("Rows")
	if field.IsValid() && Rows(field.Int()) == OutRows {
		rows = outs
	}
	seqs, s := k.batch.Seqs(), 0
	for r := range rows {
		for r >= int(seqs[s].Row0+seqs[s].Rows) {
			s++
		}
		b.Resize(1, 1, 1)
		b.Tokens()[0], b.Pos()[0], b.Outs()[0] = k.batch.Tokens()[r], k.batch.Pos()[r], 0
		b.Seqs()[0] = Seq{Rows: 1, Slot: seqs[s].Slot, Pos0: b.Pos()[0], PlaneIn: seqs[s].PlaneIn, PlaneOut: seqs[s].PlaneOut}
		if r > int(seqs[s].Row0) {
			b.Seqs()[0].PlaneIn = seqs[s].PlaneOut
		}
		args := reflect.New(reflect.TypeOf(k.args).Elem())
		args.Elem().Set(reflect.ValueOf(k.args).Elem())
		for name, size := range k.rows {
			f := args.Elem().FieldByName(name)
			if p := f.Interface().(unsafe.Pointer); p != nil {
				f.Set(reflect.ValueOf(unsafe.Add(p, int64(r)*size)))
			}
		}
		p := NewProgram(level)
		if err := p.Add(args.Interface().(Args)); err != nil {
			t.Fatal(err)
		}
		teams[1].Run(p, b)
		p.Free()
	}
}

// randomBatch returns a batch of up to 3 sequences on distinct slots and planes out of 4, of up to maxRows rows each,
// with random positions below cells and random outputs. Where a sequence is new its state starts as zero.
func (a *arena) randomBatch(t testing.TB, maxRows, cells int) *Batch {
	rng := a.rng
	b := NewBatch(3*maxRows, 3)
	t.Cleanup(b.Free)
	seqs := 1 + rng.IntN(3)
	slots, planes := rng.Perm(4), rng.Perm(4)
	row := 0
	b.Resize(3*maxRows, 0, seqs)
	for i := range seqs {
		rows := 1 + rng.IntN(maxRows)
		s := Seq{Row0: int32(row), Rows: int32(rows), Slot: int32(slots[i]), PlaneOut: int32(planes[i])}
		s.Pos0 = int32(rng.IntN(cells - rows + 1))
		switch rng.IntN(3) {
		case 0:
			s.Pos0, s.PlaneIn = 0, -1
		case 1:
			s.PlaneIn = s.PlaneOut
		case 2:
			s.PlaneIn = int32(planes[3]) // of no sequence's outputs
		}
		b.Seqs()[i] = s
		for r := range rows {
			b.Pos()[row+r] = s.Pos0 + int32(r)
			b.Tokens()[row+r] = int32(rng.IntN(32))
		}
		row += rows
	}
	b.Resize(row, row, seqs)
	outs := b.Outs()[:0]
	for r := range row {
		if rng.IntN(2) == 0 {
			outs = append(outs, int32(r))
		}
	}
	b.Resize(row, len(outs), seqs)
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	return b
}

// rowsOf returns how many rows of the batch a step counts.
func rowsOf(b *Batch, rows Rows) int {
	if rows == OutRows {
		return len(b.Outs())
	}
	return b.Rows()
}
