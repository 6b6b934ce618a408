package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"
)

// meeting is lanes with teams of their own that run the same steps over one exchange.
type meeting struct {
	exchange *Exchange
	teams    []*Team
	programs []*Program
	batches  []*Batch
}

func newMeeting(t *testing.T, threads []int, floats int64, rows int) *meeting {
	t.Helper()
	x, err := NewExchange(threads, floats)
	if err != nil {
		t.Fatal(err)
	}
	m := &meeting{exchange: x}
	for _, n := range threads {
		m.teams, m.programs, m.batches = append(m.teams, NewTeam(n)), append(m.programs, NewProgram(Generic)), append(m.batches, NewBatch(rows, 1))
	}
	t.Cleanup(func() {
		for i := range m.teams {
			m.teams[i].Close()
			m.programs[i].Free()
			m.batches[i].Free()
		}
		x.Free()
	})
	return m
}

func (m *meeting) add(t *testing.T, lane int, a Args) {
	t.Helper()
	if err := m.programs[lane].Add(a); err != nil {
		t.Fatal(err)
	}
}

// run runs all lanes at once on a batch of that many rows.
func (m *meeting) run(rows int) {
	var wait sync.WaitGroup
	for i := range m.teams {
		b := m.batches[i]
		b.Resize(rows, 0, 1)
		b.Seqs()[0] = Seq{Rows: int32(rows)}
		for r := range rows {
			b.Pos()[r] = int32(r)
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			m.teams[i].Run(m.programs[i], b)
		}()
	}
	wait.Wait()
}

func laneFloats(t *testing.T, n int) ([]float32, unsafe.Pointer) {
	t.Helper()
	m, err := Alloc(int64(n) * 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Free)
	return m.Float32s()[:n], m.Pointer()
}

// Sums of several widths follow one another, so that buffers are used again while other lanes may still read them; the
// order of the lanes decides the bits. Lanes may have unequal teams.
func TestLanesSumAndJoin(t *testing.T) {
	const rows, rounds = 5, 40
	widths := []int{1, 63, 64, 200, 1000}
	for _, threads := range [][]int{{1, 1}, {2, 2}, {1, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 1}} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			m := newMeeting(t, threads, int64(rows*slices.Max(widths)), rows)
			lanes := len(threads)
			rng := rand.New(rand.NewPCG(1, 2))
			type result struct {
				got, want []float32
				what      string
			}
			var results []result
			for _, n := range widths {
				xs, adds := make([][]float32, lanes), make([]float32, rows*n)
				sum, joined := make([]float32, rows*n), make([]float32, rows*n)
				for i := range adds {
					adds[i] = rng.Float32()
				}
				from := make([]int32, lanes+1) // lane 0 has no columns
				for l := 1; l <= lanes; l++ {
					from[l] = int32(n * (l - 1) / (lanes - 1))
				}
				for l := range lanes {
					x, at := laneFloats(t, rows*n)
					for i := range x {
						x[i] = rng.Float32()*2 - 1
					}
					xs[l] = x
					add, addAt := laneFloats(t, rows*n)
					copy(add, adds)
					dst, dstAt := laneFloats(t, rows*n)
					m.add(t, l, &AllReduce{Exchange: m.exchange.Pointer(), X: at, Add: addAt, Dst: dstAt, XStride: int64(n), AddStride: int64(n), DStride: int64(n),
						Lane: int32(l), Cols: int32(n)})
					results = append(results, result{dst, sum, fmt.Sprintf("sum of %d columns in lane %d", n, l)})
					table, err := Alloc(int64(lanes+1) * 4)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(table.Free)
					copy(table.Int32s(), from)
					all, allAt := laneFloats(t, rows*n)
					g := &AllGather{Exchange: m.exchange.Pointer(), Dst: allAt, From: table.Pointer(), XStride: int64(n), DStride: int64(n), Lane: int32(l), Times: 1}
					if from[l+1] > from[l] {
						g.X = at
					}
					m.add(t, l, g)
					results = append(results, result{all, joined, fmt.Sprintf("join of %d columns in lane %d", n, l)})
				}
				for r := range rows {
					for c := range n {
						s := xs[0][r*n+c]
						for l := 1; l < lanes; l++ {
							s += xs[l][r*n+c]
						}
						sum[r*n+c] = s + adds[r*n+c]
						for l := range lanes {
							if int32(c) >= from[l] && int32(c) < from[l+1] {
								joined[r*n+c] = xs[l][r*n+c-int(from[l])]
							}
						}
					}
				}
			}
			for range rounds {
				for _, r := range results {
					clear(r.got)
				}
				m.run(rows)
				for _, r := range results {
					if !slices.Equal(r.got, r.want) {
						t.Fatalf("%s is wrong", r.what)
					}
				}
			}
		})
	}
}

// A lane that never comes does not keep the others, and afterwards all goes on.
func TestLanesGiveUp(t *testing.T) {
	m := newMeeting(t, []int{1, 1}, 64, 1)
	x, at := laneFloats(t, 64)
	x[3] = 2
	for l := range 2 {
		m.add(t, l, &AllReduce{Exchange: m.exchange.Pointer(), X: at, Dst: at, XStride: 64, DStride: 64, Lane: int32(l), Cols: 4})
	}
	b := m.batches[0]
	b.Resize(1, 0, 1)
	b.Seqs()[0] = Seq{Rows: 1}
	done := make(chan bool)
	go func() {
		m.teams[0].Run(m.programs[0], b)
		done <- true
	}()
	m.exchange.GiveUp()
	<-done
	m.exchange.Reset()
	x[3] = 2
	y, yAt := laneFloats(t, 64)
	m.programs[0].Free()
	m.programs[1].Free()
	for l := range 2 {
		dst := yAt
		if l == 1 {
			_, dst = laneFloats(t, 64)
		}
		m.add(t, l, &AllReduce{Exchange: m.exchange.Pointer(), X: at, Dst: dst, XStride: 64, DStride: 64, Lane: int32(l), Cols: 4})
	}
	m.run(1)
	if y[3] != 4 {
		t.Errorf("after a reset the sum is %v, expected 4", y[3])
	}
}

func TestZero(t *testing.T) {
	p, b, team := NewProgram(Generic), NewBatch(3, 1), NewTeam(2)
	defer p.Free()
	defer b.Free()
	defer team.Close()
	x, at := laneFloats(t, 3*100)
	for i := range x {
		x[i] = 1
	}
	if err := p.Add(&Zero{Dst: at, DStride: 100, Cols: 70}); err != nil {
		t.Fatal(err)
	}
	b.Resize(3, 0, 1)
	b.Seqs()[0] = Seq{Rows: 3}
	for i := range b.Pos() {
		b.Pos()[i] = int32(i)
	}
	team.Run(p, b)
	for i, v := range x {
		if want := map[bool]float32{true: 0, false: 1}[i%100 < 70]; v != want {
			t.Fatalf("value %d is %v, expected %v", i, v, want)
		}
	}
}

func TestCPUNumbers(t *testing.T) {
	for list, want := range map[string][]int{"0-3,8\n": {0, 1, 2, 3, 8}, "": nil, "x,2": {2}, "5": {5}, "1-": nil} {
		if got := cpuNumbers(list); !slices.Equal(got, want) {
			t.Errorf("%q: %v, expected %v", list, got, want)
		}
	}
	if cores := CoreList(); len(cores) > Cores() {
		t.Errorf("%d cores are listed, %d may be used", len(cores), Cores())
	}
}
