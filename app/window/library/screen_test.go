package library

import (
	"fmt"
	"testing"
)

func TestOutcome(t *testing.T) {
	var many []string
	for i := range 8 {
		many = append(many, fmt.Sprintf("%d.gguf: cut", i))
	}
	for _, c := range []struct {
		added Added
		want  string
	}{
		{Added{}, "No GGUF model was found there"},
		{Added{Names: []string{"a"}}, "“a” added"},
		{Added{Names: []string{"a", "b"}}, "2 models added"},
		{Added{Failed: many[:1]}, "Could not be added: 0.gguf: cut"},
		{Added{Failed: many[:2]}, "None of 2 could be added:\n0.gguf: cut\n1.gguf: cut"},
		{Added{Names: []string{"a"}, Failed: many[:1]}, "“a” added, one could not be:\n0.gguf: cut"},
		{Added{Names: []string{"a", "b"}, Failed: many[:2]}, "2 models added, 2 could not be:\n0.gguf: cut\n1.gguf: cut"},
		{Added{Names: []string{"a", "b"}, Failed: many}, "2 models added, 8 could not be:\n0.gguf: cut\n1.gguf: cut\n2.gguf: cut\n3.gguf: cut\n" +
			"4.gguf: cut\n5.gguf: cut\nand 2 more"},
	} {
		if got := outcome(c.added); got != c.want {
			t.Errorf("%d added, %d not: %q, want %q", len(c.added.Names), len(c.added.Failed), got, c.want)
		}
	}
}
