package cpu

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestLimits(t *testing.T) {
	l, err := MeasureLimits(t.Context(), 2, 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", l)
	// From a slow board to a processor that reads its own cache.
	if l.Threads != 2 || l.Read1 < 1e8 || l.Read < 1e8 || l.Read > 1e13 || l.Pattern == "" {
		t.Errorf("reading: %+v", l)
	}
	for _, r := range l.Rates {
		if r.PerSecond < 1e8 || r.PerSecond > 1e15 {
			t.Errorf("%+v", r)
		}
	}
	for _, level := range []Level{AVX2, AVX512} {
		for _, typ := range []string{"int8", "f32"} {
			has := slices.ContainsFunc(l.Rates, func(r Rate) bool { return r.Level == level.String() && r.Type == typ })
			if has != slices.Contains(Levels(), level) {
				t.Errorf("%s rate of %v: %v", typ, level, has)
			}
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := MeasureLimits(ended, 1, 8<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("where nobody waits any longer: %v", err)
	}
	if _, err := MeasureLimits(t.Context(), 1, 1<<62); !errors.Is(err, ErrMemory) {
		t.Errorf("a buffer that no machine has: %v", err)
	}
}

func TestReadOfGivenMemory(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	mem, err := Alloc(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Free()
	for _, c := range []struct{ at, n, want int64 }{
		{0, 8 << 20, 8 << 20}, {0, 4096, 4096}, {0, 4095, 0}, {0, 0, 0}, {1, 8<<20 - 1, 8<<20 - 4096}, {64, 1 << 20, 1 << 20},
	} {
		bytes, took := team.Read(mem.At(c.at), c.n)
		if bytes != c.want || (took <= 0) != (c.want == 0) {
			t.Errorf("%d bytes from %d: %d read in %v, expected %d", c.n, c.at, bytes, took, c.want)
		}
	}
}

func TestPeakIsThatOfTheLevelAndBelow(t *testing.T) {
	l := Limits{Rates: []Rate{{"a", "int8", "avx2", 3}, {"b", "f32", "avx2", 1}, {"c", "int8", "avx512", 9}, {"d", "bf16", "amx", 20}}}
	for _, c := range []struct {
		level string
		types []string
		want  float64
	}{
		{"avx2", nil, 3}, {"avx512", nil, 9}, {"amx", nil, 20}, {"amx", []string{"int8"}, 9}, {"avx512", []string{"f32", "bf16"}, 1}, {"generic", nil, 0},
	} {
		if got := l.Peak(c.level, c.types...); got != c.want {
			t.Errorf("%s %v: %v, expected %v", c.level, c.types, got, c.want)
		}
	}
}
