package cli

import (
	"math"
	"slices"
	"testing"
)

func TestIntListReadsNumbersAndRanges(t *testing.T) {
	for in, want := range map[string][]int{
		"5":          {5},
		"1,2,4":      {1, 2, 4},
		"1-4":        {1, 2, 3, 4},
		"0-512+128":  {0, 128, 256, 384, 512},
		"1-8*2":      {1, 2, 4, 8},
		"0-3*2":      {0}, // would never grow
		"-1":         {-1},
		"7-7":        {7},
		"512,0-2,16": {512, 0, 1, 2, 16},
	} {
		var l intList
		if err := l.Set(in); err != nil || !slices.Equal(l, want) {
			t.Errorf("%q gives %v, %v, expected %v", in, l, err, want)
		}
	}
	for _, in := range []string{"", "x", "1,", "4-1", "1-4+0", "1-4*", "1-4/2", "1--4", "1-99999999", "99999999999999999999"} {
		var l intList
		if err := l.Set(in); err == nil {
			t.Errorf("%q gives %v, expected an error", in, l)
		}
	}
	var l intList // given twice
	if l.Set("1"); l.Set("2") != nil || l.String() != "1,2" {
		t.Errorf("two flags give %v", l)
	}
}

func TestPairList(t *testing.T) {
	var l pairList
	if err := l.Set("512,128"); err != nil || l[0] != [2]int{512, 128} {
		t.Errorf("got %v, %v", l, err)
	}
	for _, in := range []string{"", "1", "1,", "1,2,3", "-1,2", "a,b"} {
		if err := l.Set(in); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}

func TestTestsAreNamedAsInLlamaBench(t *testing.T) {
	for want, b := range map[string]benchTest{
		"pp512":         {prompt: 512},
		"tg128":         {gen: 128},
		"pp512 @ d1024": {prompt: 512, depth: 1024},
		"pp512+tg128":   {prompt: 512, gen: 128},
		"pp16+tg4 @ d2": {prompt: 16, gen: 4, depth: 2},
	} {
		if got := b.name(); got != want {
			t.Errorf("%+v is named %q, expected %q", b, got, want)
		}
	}
}

func TestCombinationsKeepAModelOpen(t *testing.T) {
	o := benchOptions{prompts: intList{8}, gens: intList{0}, pairs: pairList{{4, 2}, {0, 0}}, depths: intList{0, 16}, threads: intList{1, 2}}
	tests, err := o.tests()
	if err != nil {
		t.Fatal(err)
	}
	var threads []int
	for _, b := range tests {
		threads = append(threads, b.threads)
	}
	if !slices.Equal(threads, []int{1, 1, 1, 1, 2, 2, 2, 2}) {
		t.Errorf("threads change in the order %v", threads)
	}
}

func TestMeanAndDeviation(t *testing.T) {
	x := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	if m, d := mean(x), deviation(x); m != 5 || math.Abs(d-2.13809) > 1e-5 {
		t.Errorf("mean %v, deviation %v", m, d)
	}
	if d := deviation([]float64{3}); d != 0 {
		t.Errorf("one value deviates by %v", d)
	}
}
