package cpu

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// addition builds a program of n steps, each of which adds 1 to every value of a row of cols, and returns the row.
func addition(t testing.TB, n, cols int) (*Program, []float32) {
	m, err := Alloc(int64(8 * cols))
	if err != nil {
		t.Fatal(err)
	}
	values := m.Float32s()
	for i := range values[cols:] {
		values[cols+i] = 1
	}
	p := NewProgram(Generic)
	for range n {
		if err := p.Add(&Add{X: m.At(0), Y: m.At(int64(4 * cols)), Dst: m.At(0), Cols: int32(cols), Scale: 1}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { p.Free(); m.Free() })
	return p, values[:cols]
}

func oneRow(t testing.TB) *Batch {
	b := NewBatch(1, 1)
	b.Resize(1, 0, 1)
	b.Seqs()[0] = Seq{Rows: 1}
	t.Cleanup(b.Free)
	return b
}

func TestTeamRunsEveryStepInOrder(t *testing.T) {
	b := oneRow(t)
	for threads := 1; threads <= 5; threads++ {
		p, row := addition(t, 100, 500)
		team := NewTeam(threads)
		for range 50 {
			team.Run(p, b)
		}
		team.Close()
		for i, v := range row {
			if v != 5000 {
				t.Fatalf("%d threads: value %d is %v after 5000 additions", threads, i, v)
			}
		}
	}
}

func TestTeamsSideBySide(t *testing.T) {
	b := oneRow(t)
	var wg sync.WaitGroup
	for range 4 {
		p, row := addition(t, 5, 200)
		wg.Go(func() {
			for round := range 20 {
				team := NewTeam(1 + round%3)
				for range 20 {
					team.Run(p, b)
				}
				if round%5 == 0 {
					time.Sleep(2 * time.Millisecond) // long enough for the workers to fall asleep
					team.Run(p, b)
				}
				team.Close()
			}
			if want := float32(5 * (20*20 + 4)); row[0] != want || row[199] != want {
				t.Errorf("values %v and %v, expected %v", row[0], row[199], want)
			}
		})
	}
	wg.Wait()
}

func TestTeamClose(t *testing.T) {
	for range 200 {
		NewTeam(3).Close() // workers may not have started yet
	}
	team := NewTeam(3)
	time.Sleep(2 * time.Millisecond)
	team.Close()
	team.Close()
	defer func() {
		if recover() == nil {
			t.Error("a closed team ran")
		}
	}()
	p, _ := addition(t, 1, 1)
	team.Run(p, oneRow(t))
}

func TestIdleTeamSleeps(t *testing.T) {
	p, _ := addition(t, 10, 100)
	b, team := oneRow(t), NewTeam(3)
	defer team.Close()
	team.Run(p, b)
	time.Sleep(20 * time.Millisecond)
	before := processTime(t)
	time.Sleep(200 * time.Millisecond)
	if used := processTime(t) - before; used > 40*time.Millisecond {
		t.Errorf("an idle team used %v of processor time in 200ms", used)
	}
}

func processTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestTeamRunAllocatesNothing(t *testing.T) {
	p, _ := addition(t, 10, 100)
	b, team := oneRow(t), NewTeam(2)
	defer team.Close()
	if n := testing.AllocsPerRun(20, func() { team.Run(p, b) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

func TestTeamEmptyProgram(t *testing.T) {
	p := NewProgram(Generic)
	defer p.Free()
	team := NewTeam(3)
	defer team.Close()
	q, row := addition(t, 1, 1)
	for range 10 {
		team.Run(p, oneRow(t))
		team.Run(q, oneRow(t))
	}
	if row[0] != 10 {
		t.Errorf("value %v after 10 additions", row[0])
	}
}

func TestPinnedTeam(t *testing.T) {
	if _, err := NewPinnedTeam(nil); !errors.Is(err, ErrThreads) {
		t.Errorf("a team on no CPU: %v", err)
	}
	team, err := NewPinnedTeam([]int{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	p, row := addition(t, 10, 200)
	team.Run(p, oneRow(t))
	if row[0] != 10 || row[199] != 10 {
		t.Errorf("values %v and %v after 10 additions", row[0], row[199])
	}
	if runtime.GOOS == "linux" && Pin(-1) == nil {
		t.Error("pinned to CPU -1")
	}
}

func TestProfile(t *testing.T) {
	p, _ := addition(t, 10, 100)
	b, team := oneRow(t), NewTeam(2)
	defer team.Close()
	if p.Timings() != nil {
		t.Error("timings without a profile")
	}
	p.Profile(true)
	for range 3 {
		team.Run(p, b)
	}
	rows := p.Timings()
	if len(rows) != 1 || rows[0].Op != OpAdd || rows[0].Steps != 10 || rows[0].Calls != 30 || rows[0].Time <= 0 || rows[0].HasType() {
		t.Errorf("timings %+v", rows)
	}
	p.Profile(false)
	team.Run(p, b)
	if p.Timings() != nil {
		t.Error("timings after the profile")
	}
}

func TestProgramListing(t *testing.T) {
	m, err := Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	p := NewProgram(Generic)
	defer p.Free()
	for _, a := range []Args{
		&Norm{X: m.At(0), W: m.At(64), Dst: m.At(128), Stride: 16, Gap: 16, DStride: 16, DGap: 16, Heads: 1, Cols: 16, Eps: 0.5},
		&KVStore{K: m.At(128), V: m.At(128), KC: m.At(256), VC: m.At(512), KStride: 16, VStride: 16, Type: F16, VType: F16, Heads: 1, Dim: 16, Cells: 4},
	} {
		if err := p.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	const want = `  0 norm/generic x=@0 w=@1 dst=@2 stride=16 gap=16 dstride=16 dgap=16 gstride=0 heads=1 cols=16 rows=0 eps=0.5
  1 kv_store/generic k=@2 v=@2 kc=@3 vc=@4 kstride=16 vstride=16 type=F16 vtype=F16 heads=1 dim=16 cells=4
`
	if got := p.String(); got != want || p.Len() != 2 {
		t.Errorf("%d steps:\n%s", p.Len(), got)
	}
	err = p.Add(&KVStore{K: m.At(0), V: m.At(0), KC: m.At(0), VC: m.At(0), Type: Q2_K, Heads: 1, Dim: 256, Cells: 1})
	if !errors.Is(err, ErrNoKernel) || !strings.Contains(err.Error(), "kv_store Q2_K") {
		t.Errorf("a cache of Q2_K: %v", err)
	}
}

func TestArgsAreChecked(t *testing.T) {
	m, err := Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	at := m.At(0)
	p := NewProgram(Generic)
	defer p.Free()
	for want, a := range map[string]Args{
		"norm: bad kernel arguments: no Dst":                                                   &Norm{X: at, Heads: 1, Cols: 1},
		"norm: bad kernel arguments: Cols is 0":                                                &Norm{X: at, Dst: at, Heads: 1},
		"matmul: bad kernel arguments: a row of 100 values is not whole blocks of 256 of Q4_K": &Matmul{W: at, X: at, Dst: at, Type: Q4_K, M: 1, K: 100},
		"rope: bad kernel arguments: Rot is 3, not a multiple of 2":                            &Rope{X: at, Freq: at, Heads: 1, Rot: 3},
		"attention: bad kernel arguments: Heads is 3, not a multiple of 2":                     &Attention{Q: at, KC: at, VC: at, Dst: at, Scratch: at, Done: at, Type: F16, Heads: 3, KVHeads: 2, Dim: 1, Cells: 1},
		"attention: bad kernel arguments: KVHeads is 0":                                        &Attention{Q: at, KC: at, VC: at, Dst: at, Scratch: at, Done: at, Type: F16, Heads: 3, Dim: 1, Cells: 1},
		"route: bad kernel arguments: 5 of 4 experts used":                                     &Route{Logits: at, IDs: at, Weights: at, Experts: 4, Used: 5},
	} {
		if err := p.Add(a); !errors.Is(err, ErrArgs) || err.Error() != want {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
	if p.Len() != 0 {
		t.Errorf("%d bad steps were added", p.Len())
	}
}

func TestLevels(t *testing.T) {
	ls := Levels()
	if ls[0] != Generic || Detect() != ls[len(ls)-1] {
		t.Errorf("levels %v, detected %v", ls, Detect())
	}
	for _, l := range ls {
		if got, err := ParseLevel(strings.ToUpper(l.String())); got != l || err != nil {
			t.Errorf("%v parses as %v, %v", l, got, err)
		}
	}
	if got, err := ParseLevel(""); got != Detect() || err != nil {
		t.Errorf("the empty name parses as %v, %v", got, err)
	}
	if _, err := ParseLevel("mmx"); !errors.Is(err, ErrLevel) {
		t.Errorf("mmx: %v", err)
	}
	for l := range levelNames {
		if _, err := ParseLevel(Level(l).String()); !slices.Contains(ls, Level(l)) && !errors.Is(err, ErrLevel) {
			t.Errorf("%v is not here: %v", Level(l), err)
		}
	}
}

func TestMemory(t *testing.T) {
	m, err := Alloc(5 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Float32s()) != 5<<18 || len(m.Uint16s()) != 5<<19 || uintptr(m.Pointer())%4096 != 0 {
		t.Errorf("%d floats at %p", len(m.Float32s()), m.Pointer())
	}
	for _, i := range []int{0, 12345, 5<<20 - 1} {
		if m.Bytes()[i] != 0 {
			t.Errorf("byte %d is not zero", i)
		}
	}
	m.Free()
	m.Free()
	// Far more than the machine has: only what is touched counts.
	if big, err := Alloc(1 << 40); err == nil {
		big.Bytes()[1<<39] = 1
		big.Free()
	}
	for _, bad := range []int64{-1, 1 << 62} {
		if _, err := Alloc(bad); !errors.Is(err, ErrMemory) {
			t.Errorf("%d bytes: %v", bad, err)
		}
	}
}

func TestBatchCheck(t *testing.T) {
	b := NewBatch(4, 2)
	defer b.Free()
	fill := func() {
		b.Resize(4, 2, 2)
		copy(b.Pos(), []int32{7, 8, 9, 0})
		copy(b.Outs(), []int32{2, 3})
		copy(b.Seqs(), []Seq{{Rows: 3, Pos0: 7, PlaneIn: -1}, {Row0: 3, Rows: 1, Slot: 1}})
	}
	fill()
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(){
		"gap":      func() { b.Seqs()[1].Row0 = 2 },
		"short":    func() { b.Resize(4, 2, 1) },
		"long":     func() { b.Seqs()[1].Rows = 2 },
		"empty":    func() { b.Seqs()[1].Rows = 0 },
		"huge":     func() { b.Seqs()[1].Rows = 1<<31 - 1 },
		"position": func() { b.Pos()[1] = 9 },
		"plane":    func() { b.Seqs()[0].PlaneOut = -1 },
		"order":    func() { b.Outs()[0] = 3 },
		"output":   func() { b.Outs()[1] = 4 },
	} {
		fill()
		spoil()
		if b.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The barrier's rounds differ with the number of threads: powers of two and what lies between.
func TestBarrierOrdersSteps(t *testing.T) {
	const steps = 40
	for _, threads := range []int{2, 3, 4, 7, 8, 9} {
		// Step i adds row i-1 to row i, cut otherwise than row i-1 was: a thread reads what others wrote a step before.
		const cols = 1000
		m, err := Alloc(4 * cols * (steps + 1))
		if err != nil {
			t.Fatal(err)
		}
		row := func(i int) unsafe.Pointer { return m.At(int64(4 * cols * i)) }
		p := NewProgram(Generic)
		for i := range steps {
			if err := p.Add(&Norm{X: row(i), Dst: row(i + 1), Stride: cols, Gap: cols, DStride: cols, DGap: cols, Heads: 1, Cols: cols}); err != nil {
				t.Fatal(err)
			}
			if err := p.Add(&Add{X: row(i + 1), Y: row(i), Dst: row(i + 1), XStride: cols, YStride: cols, DStride: cols, Cols: cols, Scale: 1}); err != nil {
				t.Fatal(err)
			}
		}
		team, b := NewTeam(threads), oneRow(t)
		for range 20 {
			clear(m.Float32s()[cols:])
			for i := range cols {
				m.Float32s()[i] = 1
			}
			team.Run(p, b)
			// A row of equal values has the norm 1, so each step adds 1.
			for i, v := range m.Float32s()[cols*steps:][:cols] {
				if v != steps+1 {
					t.Fatalf("%d threads: value %d is %v after %d steps", threads, i, v, steps)
				}
			}
		}
		team.Close()
		p.Free()
		m.Free()
	}
}
