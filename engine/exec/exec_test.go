package exec

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"ingot/engine/device"
	"ingot/engine/plan"
)

// lane meets the others in every run: a runner that runs them one after the other never ends.
type lane struct {
	meet   *sync.WaitGroup
	err    error
	fault  any
	runs   int
	copies []int
	closed bool
}

func (l *lane) Run(*device.Batch) error {
	l.runs++
	l.meet.Done()
	l.meet.Wait()
	if l.fault != nil {
		panic(l.fault)
	}
	return l.err
}

func (l *lane) Scores(i int) device.Scores         { return device.Scores{Logits: []float32{float32(i)}} }
func (l *lane) Hidden(i int) []float32             { return []float32{float32(-i)} }
func (l *lane) Value(plan.Loc, int) []float32      { return []float32{7} }
func (l *lane) Indices(plan.Loc, int) []int32      { return []int32{8} }
func (l *lane) Work(rows, outs int) (int64, int64) { return int64(rows), int64(outs) }
func (l *lane) Profile() []device.Timing           { return nil }
func (l *lane) Receive(plan.Loc, int, device.Lane, plan.Loc) error {
	return nil
}
func (l *lane) CopySlot(from, to, cells int) { l.copies = append(l.copies, from, to, cells) }
func (l *lane) Memory() device.Memory        { return device.Memory{Weights: 1, Cache: 2} }
func (l *lane) Close()                       { l.closed = true }

func TestLanesRunAtOnce(t *testing.T) {
	var meet sync.WaitGroup
	lanes := []*lane{{meet: &meet}, {meet: &meet}, {meet: &meet}}
	r := New(Stage{Lanes: []device.Lane{lanes[0], lanes[1], lanes[2]}})
	run := func() error {
		meet.Add(3)
		return r.Run(&device.Batch{Tokens: make([]int32, 4), Outs: []int32{0, 1, 2, 3}})
	}
	for range 5 {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	lanes[1].err = errors.New("broken")
	if err := run(); err == nil || err.Error() != "broken" {
		t.Error(err)
	}
	lanes[1].err, lanes[2].fault = nil, "fault"
	if err := run(); err == nil || !strings.Contains(err.Error(), "lane: fault") || !strings.Contains(err.Error(), "exec_test.go") {
		t.Errorf("a panic gives %v, expected its stack", err)
	}
	lanes[2].fault = nil
	if err := run(); err != nil {
		t.Errorf("after a panic: %v", err)
	}
	if r.Scores(3).Logits[0] != 3 || r.Hidden(3)[0] != -3 || r.Value(0, plan.Loc{}, 0)[0] != 7 || r.Indices(0, plan.Loc{}, 0)[0] != 8 {
		t.Error("results are not lane 0's")
	}
	r.Copy(1, 2, 30)
	if m := r.Memory(); len(m) != 3 || m[2].Total() != 3 {
		t.Errorf("%+v", m)
	}
	if bytes, macs := r.Work(2, 1); bytes != 6 || macs != 3 {
		t.Errorf("%d bytes and %d multiply-adds in three lanes", bytes, macs)
	}
	r.Close()
	for i, l := range lanes {
		if !l.closed || l.runs != 8 || len(l.copies) != 3 {
			t.Errorf("lane %d: %+v", i, l)
		}
	}
}

// few gives the best of each wanted row, in memory that the next run overwrites.
type few struct {
	lane
	t      *testing.T
	wanted []int32
	logits [1]float32
	ids    [1]int32
}

func (l *few) Run(b *device.Batch) error {
	if b.Best != 1 {
		l.t.Errorf("a piece for which %d of the best are enough", b.Best)
	}
	l.wanted = l.wanted[:0]
	for _, o := range b.Outs {
		l.wanted = append(l.wanted, b.Tokens[o])
	}
	l.logits[0], l.ids[0] = -1, -1
	return nil
}

func (l *few) Scores(i int) device.Scores {
	l.logits[0], l.ids[0] = float32(l.wanted[i])/2, l.wanted[i]
	return device.Scores{Logits: l.logits[:], IDs: l.ids[:], Log: float64(l.wanted[i])}
}

func TestScoresOfEarlierPiecesAreSetAside(t *testing.T) {
	r := New(Stage{Lanes: []device.Lane{&few{t: t}}, Plans: []*plan.Plan{{Options: plan.Options{Rows: 4}}}})
	defer r.Close()
	for range 2 {
		if err := r.Run(&device.Batch{Tokens: []int32{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}, Outs: []int32{1, 2, 9}, Best: 1}); err != nil {
			t.Fatal(err)
		}
		for i, id := range []int32{10, 20, 90} {
			if s := r.Scores(i); len(s.IDs) != 1 || s.IDs[0] != id || s.Logits[0] != float32(id)/2 || s.Log != float64(id) {
				t.Errorf("row %d: %+v, expected token %d", i, s, id)
			}
		}
	}
}
