package engine

import (
	"slices"
	"testing"
	"time"
)

func TestWork(t *testing.T) {
	e := openSample(t, Options{})
	info := e.Info()
	one, macs := e.Work(1)
	// All but the table of tokens' embeddings is read, and that too where it is the head.
	if one < info.FileBytes*6/10 || one > info.FileBytes {
		t.Errorf("a token reads %d bytes of a file of %d", one, info.FileBytes)
	}
	if macs < info.Parameters*6/10 || macs > info.Parameters {
		t.Errorf("a token takes %d multiply-adds of %d parameters", macs, info.Parameters)
	}
	many, times := e.Work(100)
	if many != one || times >= 100*macs || times < 50*macs {
		t.Errorf("100 tokens: %d bytes and %d multiply-adds, one: %d and %d", many, times, one, macs)
	}
}

func TestProfile(t *testing.T) {
	if e := openSample(t, Options{}); e.Profile() != nil {
		t.Error("a profile that was not asked for")
	}
	e := openSample(t, Options{Profile: true})
	s, err := e.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	bytes, macs := e.Work(5)
	for range 2 { // the second is no sum of both
		start := time.Now()
		if err := s.Feed([]int32{1, 2, 3, 4, 5}, func([]float32) {}); err != nil {
			t.Fatal(err)
		}
		wall := time.Since(start)
		var sum OpTime
		for _, p := range e.Profile() {
			sum.Bytes, sum.MACs, sum.Time = sum.Bytes+p.Bytes, sum.MACs+p.MACs, sum.Time+p.Time
			if p.Op == "" || p.Level == "" || p.Calls == 0 || (p.Op == "matmul" && p.Type == "") {
				t.Errorf("%+v", p)
			}
		}
		if sum.Bytes != bytes || sum.MACs != macs || sum.Time <= 0 || sum.Time > wall {
			t.Errorf("%+v in %v, expected %d bytes and %d multiply-adds", sum, wall, bytes, macs)
		}
	}
	p := e.Profile()
	if slices.ContainsFunc(p, func(o OpTime) bool { return o.Calls != 0 || o.Time != 0 }) {
		t.Errorf("nothing ran: %+v", p)
	}
}
