package gpu

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed dialect/*.h lib/*.h *.h *.gpu
var files embed.FS

// Dialects are the names of the targets.
var Dialects = []string{"hip", "cuda", "host"}

// Module is what is compiled together: a file of kernels, for weights of one kind where they depend on it.
type Module struct {
	File   string // "mat_vec.gpu"
	Weight string // "q4_k_planes"; empty: the file's kernels read no packed weights
	// Defines are what else a file is compiled for, "DIM=128 KT=1"; its first lines name them.
	Defines string
}

// String is the module's name in messages and profiles.
func (m Module) String() string {
	s := m.File
	if m.Weight != "" {
		s += " for " + m.Weight
	}
	if m.Defines != "" {
		s += " with " + m.Defines
	}
	return s
}

// Source returns the text that makes a module in a dialect: definitions, the dialect's words, and the file with all that
// it includes in place.
func Source(dialect string, m Module) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "#define THREADS %d\n", m.Threads())
	if m.Weight != "" {
		fmt.Fprintf(&b, "#define WEIGHT %s\n", m.Weight)
	}
	for _, d := range strings.Fields(m.Defines) {
		name, value, _ := strings.Cut(d, "=")
		fmt.Fprintf(&b, "#define %s %s\n", name, value)
	}
	seen := map[string]bool{}
	for _, name := range []string{"dialect/" + dialect + ".h", "args.h", m.File} {
		if err := include(&b, name, seen); err != nil {
			return "", fmt.Errorf("source of %v for %s: %w", m, dialect, err)
		}
	}
	return b.String(), nil
}

// include writes a file, with those it includes by a quoted name in their place, each once.
func include(b *strings.Builder, name string, seen map[string]bool) error {
	if seen[name] {
		return nil
	}
	seen[name] = true
	text, err := fs.ReadFile(files, path.Clean(name))
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "#line 1 %q\n", name)
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if other, ok := strings.CutPrefix(line, `#include "`); ok {
			if err := include(b, strings.TrimSuffix(strings.TrimSpace(other), `"`), seen); err != nil {
				return fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
			fmt.Fprintf(b, "#line %d %q\n", i+2, name)
			continue
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return nil
}

// Modules lists every module there is for a dialect: what a test compiles, and what a build may compile ahead.
func Modules(dialect string) []Module {
	var all []Module
	names, err := fs.Glob(files, "*.gpu")
	if err != nil {
		panic(err) // of the pattern
	}
	for _, name := range names {
		if strings.Contains(name, "_mma") && dialect == "hip" {
			continue
		}
		weights := []string{""}
		if text, _ := fs.ReadFile(files, name); strings.Contains(string(text), "WEIGHT") {
			weights = weightsOf(name)
		}
		for _, w := range weights {
			for _, d := range definesOf(name, w) {
				all = append(all, Module{name, w, d})
			}
		}
	}
	return all
}

// weightsOf lists what a file of products is compiled for, in the order of the types' numbers.
func weightsOf(file string) []string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(types)) {
		if t.plain() != strings.Contains(file, "plain") || t == F32 && strings.Contains(file, "_mma") {
			continue
		}
		for _, repacked := range []bool{false, true} {
			if w, err := t.weight(1, 256, repacked); err == nil && (repacked || file != "repack.gpu") {
				names = append(names, w)
			}
		}
	}
	return names
}

// definesOf lists what a file is compiled for: of those that depend on a model's shape, the shapes of usual ones.
func definesOf(file, weight string) []string {
	switch file {
	case "delta.gpu":
		return []string{"DIM=128"}
	case "attention.gpu", "attention_decode.gpu":
		return attentionDefines(file == "attention_decode.gpu")
	case "mat_vec.gpu":
		var all []string
		for _, n := range []int{1, 2, 4, 8} {
			for _, both := range []bool{false, true} {
				all = append(all, fmt.Sprintf("VECTORS=%d%s", n, gatedDefine(both)))
			}
		}
		return all
	case "experts_vec.gpu":
		return []string{"VECTORS=1", "VECTORS=2"}
	case "product.gpu", "experts.gpu", "product_mma.gpu", "experts_mma.gpu":
		var all []string
		for _, s := range tileShapes(weight, strings.Contains(file, "_mma")) {
			all = append(all, s.defines())
		}
		return all
	}
	return []string{""}
}
