package layers

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, p := range sources(t) {
		for _, part := range strings.Split(p, "/") {
			for _, word := range strings.FieldsFunc(part, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
				if slices.Contains(emptyNames, word) {
					t.Errorf("%s: %q says nothing about what is inside", p, word)
				}
			}
		}
	}
	for _, f := range goFiles(t) {
		if slices.Contains(emptyNames, f.pkg) {
			t.Errorf("%s: package %s says nothing about what is inside", f.path, f.pkg)
		}
	}
}

func TestLengths(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range sources(t) {
		if !slices.Contains([]string{".go", ".c", ".h", ".gpu"}, path.Ext(p)) {
			continue
		}
		s, _ := text(t, p)
		lines := strings.Count(s, "\n")
		if lines <= longest {
			continue
		}
		seen[p] = true
		if longer[p] == "" {
			t.Errorf("%s has %d lines, more than %d: is there a second thing in it that wants its own name?", p, lines, longest)
		}
	}
	for p := range longer {
		if !seen[p] {
			t.Errorf("%s is listed as longer than %d lines and is not", p, longest)
		}
	}
}

// Paths of one machine: a person's home, or a folder below one that every machine has. The patterns are put together
// here so that this file does not match them.
var (
	anywhere = regexp.MustCompile(`(^|[^A-Za-z0-9_.])/(` + strings.Join([]string{"ro" + "ot", "wo" + "rk", "fa" + "rm"}, "|") + `)/`)
	inCode   = regexp.MustCompile(`(^|[^A-Za-z0-9_.])/(` + "ho" + `me/[a-z]|` + "Us" + `ers/[A-Za-z]|` + "tm" + `p/)`)
)

func TestNoMachinePaths(t *testing.T) {
	for _, p := range sources(t) {
		s, ok := text(t, p)
		if !ok || p == "go.sum" {
			continue
		}
		for i, line := range strings.Split(s, "\n") {
			// Tests make up homes and folders for temporary files to test how they are treated.
			code := path.Ext(p) != ".go" || !strings.HasSuffix(p, "_test.go")
			if m := anywhere.FindString(line); m != "" {
				t.Errorf("%s:%d: a path of one machine: %s", p, i+1, m)
			} else if m := inCode.FindString(line); m != "" && code {
				t.Errorf("%s:%d: a path of one machine: %s", p, i+1, m)
			}
		}
	}
}

// An architecture names no device, no quantization type and no kernel, in its comments neither.
var foreign = regexp.MustCompile(`(?i)\b(I?Q[1-8]_[0-9A-Z]|MXFP4|BF16|F16|avx\w*|amx|neon|cuda|hip|metal|gfx\d+)\b`)

func TestArchitecturesAreData(t *testing.T) {
	for _, p := range sources(t) {
		if path.Dir(p) != "engine/arch" || strings.HasSuffix(p, "_test.go") {
			continue
		}
		s, _ := text(t, p)
		for i, line := range strings.Split(s, "\n") {
			if m := foreign.FindString(line); m != "" {
				t.Errorf("%s:%d: an architecture speaks of %s", p, i+1, m)
			}
		}
	}
}
