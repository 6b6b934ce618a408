package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
)

// bench is one case: memory that holds all operands, the same on the card as for kernels/cpu, whose generic level is the plain
// meaning.
type bench struct {
	t     *testing.T
	c     *loaded
	mem   *cpu.Memory
	at    gpu.Ptr // of the memory's copy on the card
	used  int64
	rng   *rand.Rand
	batch *cpu.Batch
	on    gpu.Ptr // the batch on the card
	outs  []region
}

// loaded is a card with the kernels it has loaded.
type loaded struct {
	*card
	info    gpu.Card
	modules map[gpu.Module]driver.Module
}

func newLoaded(c *card) *loaded {
	return &loaded{c, gpu.Card{Wave: c.props.Wave, Units: c.props.Units, MMA: gpu.HasMMA(c.props.Arch)}, map[gpu.Module]driver.Module{}}
}

// function compiles and loads a launch's module, once a card.
func (c *loaded) function(t testing.TB, l gpu.Launch) driver.Function {
	t.Helper()
	m, ok := c.modules[l.Module]
	if !ok {
		dialect := c.Kind
		if c.emulated() {
			dialect = "host"
		}
		text, err := gpu.Source(dialect, l.Module)
		must(t, err)
		image, log, err := c.Compile(driver.Source{Name: l.Module.File, Text: text}, c.props.Arch, nil)
		if err != nil {
			t.Fatalf("%v: %v\n%s", l.Module, err, log)
		}
		m, err = c.Load(image)
		must(t, err)
		c.modules[l.Module] = m
	}
	f, err := c.Find(m, l.Entry)
	must(t, err)
	return f
}

// run launches kernels one after the other and waits for them.
func (c *loaded) run(t testing.TB, list ...gpu.Launch) {
	t.Helper()
	for _, l := range list {
		must(t, c.Launch(c.function(t, l), l.Grid, l.Module.Threads(), c.stream, unsafe.Pointer(&l.Args[0])))
	}
	if err := c.SyncWithin(c.stream, time.Minute, nil); err != nil {
		t.Fatalf("%s: %v %s", list[len(list)-1].Entry, err, c.why())
	}
}

func (c *loaded) alloc(t testing.TB, bytes int) gpu.Ptr {
	t.Helper()
	p, err := c.Malloc(int64(max(bytes, 16)))
	must(t, err)
	t.Cleanup(func() { c.Free(p) })
	return gpu.Ptr(p)
}

func (c *loaded) upload(t testing.TB, at gpu.Ptr, from []byte) {
	t.Helper()
	if len(from) == 0 {
		return
	}
	n := int64(len(from))
	c.move(n, func(host unsafe.Pointer) {
		copy(unsafe.Slice((*byte)(host), n), from)
		must(t, c.Upload(driver.Ptr(at), host, n, c.stream))
		must(t, c.Sync(c.stream))
	})
}

func (c *loaded) download(t testing.TB, at gpu.Ptr, to []byte) {
	t.Helper()
	if len(to) > 0 {
		copy(to, get[byte](c.card, driver.Ptr(at), len(to)))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// region is a part of the memory.
type region struct {
	off, size int64
	tol       float64 // of floats, |got - want| <= tol * (1 + |want|); 0: the same bits; infinite: anything
}

// memory is used by one case at a time. Whatever is not an operand is NaN.
var memory = sync.OnceValues(func() (*cpu.Memory, error) { return cpu.Alloc(8 << 20) })

func newBench(t *testing.T, c *loaded, seed int, batch func(*rand.Rand) *cpu.Batch) *bench {
	// A driver's present card is the thread's, and a subtest begins on any.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	must(t, c.Use(c.number))
	m, err := memory()
	must(t, err)
	for i := range m.Bytes() {
		m.Bytes()[i] = 0xff
	}
	b := &bench{t: t, c: c, mem: m, used: 256, rng: rand.New(rand.NewPCG(uint64(seed), 11))}
	b.batch = batch(b.rng)
	t.Cleanup(b.batch.Free)
	must(t, b.batch.Check())
	b.on = c.putBatch(t, b.batch)
	return b
}

// putBatch puts a batch on the card: struct batch with its arrays behind it.
func (c *loaded) putBatch(t testing.TB, b *cpu.Batch) gpu.Ptr {
	rows, outs, seqs := b.Rows(), len(b.Outs()), len(b.Seqs())
	const head = 48
	at := c.alloc(t, head+4*(2*rows+outs)+24*seqs)
	token := uint64(at) + head
	pos := token + uint64(4*rows)
	out := pos + uint64(4*rows)
	text := append(bytesOf([]int32{int32(rows), int32(outs), int32(seqs), 0}), bytesOf([]uint64{token, pos, out, out + uint64(4*outs)})...)
	for _, part := range [][]byte{bytesOf(b.Tokens()), bytesOf(b.Pos()), bytesOf(b.Outs()), bytesOf(b.Seqs())} {
		text = append(text, part...)
	}
	c.upload(t, at, text)
	return at
}

func (b *bench) take(size int64) region {
	r := region{off: b.used, size: size}
	b.used = (b.used + size + 64 + 15) &^ 15 // NaNs between
	if b.used > b.mem.Len() {
		panic("the case is too large")
	}
	return r
}

// floats takes n floats drawn from a normal distribution.
func (b *bench) floats(n int, deviation float64) region {
	r := b.take(4 * int64(n))
	for i := range b.f32(r) {
		b.f32(r)[i] = float32(b.rng.NormFloat64() * deviation)
	}
	return r
}

// empty takes n floats and leaves them NaN.
func (b *bench) empty(n int) region { return b.take(4 * int64(n)) }

func (b *bench) ptr(r region) unsafe.Pointer { return b.mem.At(r.off) }
func (b *bench) f32(r region) []float32 {
	return unsafe.Slice((*float32)(b.ptr(r)), r.size/4)
}

// out says that a region is written, and how near it must come; exact results have tolerance 0.
func (b *bench) out(r region, tol float64) {
	r.tol = tol
	b.outs = append(b.outs, r)
}

// onCard fills a card's arguments from those of kernels/cpu: fields of one name have one meaning, and pointers lead to the
// same place in the memory's copy. Fields that only the card has stay.
func (b *bench) onCard(from cpu.Args, to any) {
	src, dst := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range src.NumField() {
		f := dst.FieldByName(src.Type().Field(i).Name)
		if !f.IsValid() || !f.CanSet() {
			continue
		}
		switch v := src.Field(i); v.Kind() {
		case reflect.UnsafePointer:
			f.SetUint(b.place(v.UnsafePointer()))
		case reflect.Float32:
			f.SetFloat(v.Float())
		default:
			f.SetInt(v.Int())
		}
	}
	dst.FieldByName("Batch").SetUint(uint64(b.on))
}

func (b *bench) place(p unsafe.Pointer) uint64 {
	if p == nil {
		return 0
	}
	return uint64(b.at) + uint64(uintptr(p)-uintptr(b.mem.Pointer()))
}

// start makes the memory's copy on the card; every operand has been taken by then.
func (b *bench) start() {
	b.at = b.c.alloc(b.t, int(b.used))
	b.c.upload(b.t, b.at, b.mem.Bytes()[:b.used])
}

var team = sync.OnceValue(func() *cpu.Team { return cpu.NewTeam(1) })

// plain runs the step on the processor, plainly.
func (b *bench) plain(args cpu.Args) {
	b.t.Helper()
	p := cpu.NewProgram(cpu.Generic)
	defer p.Free()
	must(b.t, p.Add(args))
	team().Run(p, b.batch)
}

// compare runs the plain step and holds all of the memory against what the card left of its copy.
func (b *bench) compare(args cpu.Args) {
	b.t.Helper()
	got := make([]byte, b.used)
	b.c.download(b.t, b.at, got)
	b.plain(args)
	want := b.mem.Bytes()[:b.used]
	for _, r := range b.outs {
		if r.tol > 0 {
			g, w := unsafe.Slice((*float32)(unsafe.Pointer(&got[r.off])), r.size/4), b.f32(r)
			if !math.IsInf(r.tol, 1) {
				within(b.t, fmt.Sprintf("%T", args), g, w, r.tol)
			}
			copy(got[r.off:r.off+r.size], want[r.off:])
		}
	}
	for i := range want {
		if got[i] != want[i] {
			for n, r := range b.outs {
				if int64(i) >= r.off && int64(i) < r.off+r.size {
					b.t.Fatalf("%T: byte %d of output %d is %#x, expected %#x\n%+v", args, int64(i)-r.off, n, got[i], want[i], args)
				}
			}
			b.t.Fatalf("%T wrote outside its outputs, at byte %d\n%+v", args, i, args)
		}
	}
}

// within compares floats, each with its own size; NaN stands for what is not written.
func within(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if !(math.Abs(g-w) <= tol*(1+math.Abs(w))) && !(math.IsNaN(g) && math.IsNaN(w)) {
			t.Fatalf("%s: value %d is %v, expected %v", what, i, g, w)
		}
	}
}

// pick returns one of the values.
func pick[T any](b *bench, of ...T) T { return of[b.rng.IntN(len(of))] }

// randomBatch returns a maker of batches of up to 3 sequences on distinct slots and planes out of 4, of up to maxRows rows each,
// at random positions below cells, with random outputs.
func randomBatch(maxRows, cells int) func(*rand.Rand) *cpu.Batch {
	return func(rng *rand.Rand) *cpu.Batch {
		b := cpu.NewBatch(3*maxRows, 3)
		seqs, slots, planes := 1+rng.IntN(3), rng.Perm(4), rng.Perm(4)
		row := 0
		b.Resize(3*maxRows, 0, seqs)
		for i := range seqs {
			rows := 1 + rng.IntN(maxRows)
			s := cpu.Seq{Row0: int32(row), Rows: int32(rows), Slot: int32(slots[i]), PlaneOut: int32(planes[i]), Pos0: int32(rng.IntN(cells - rows + 1))}
			switch rng.IntN(3) {
			case 0:
				s.Pos0, s.PlaneIn = 0, -1
			case 1:
				s.PlaneIn = s.PlaneOut
			case 2:
				s.PlaneIn = int32(planes[3])
			}
			b.Seqs()[i] = s
			for r := range rows {
				b.Pos()[row+r] = s.Pos0 + int32(r)
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
		return b
	}
}

// rowsOf returns how many rows of the batch a step counts.
func (b *bench) rowsOf(rows cpu.Rows) int {
	if rows == cpu.OutRows {
		return len(b.batch.Outs())
	}
	return b.batch.Rows()
}

// most is what launches are made for: more rows than the batch has.
func (b *bench) most(n int) int { return n + b.rng.IntN(3) + 1 }

// every runs random cases on each card.
func every(t *testing.T, rounds int, batch func(*rand.Rand) *cpu.Batch, f func(b *bench)) {
	onEach(t, func(t *testing.T, c *card) {
		on := newLoaded(c)
		for i := range rounds {
			t.Run(fmt.Sprint(i), func(t *testing.T) { f(newBench(t, on, i, batch)) })
		}
	})
}
