package layers

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestImports(t *testing.T) {
	files := goFiles(t)
	project := folders(files)
	for _, f := range files {
		for _, im := range f.imports {
			if r := broken(f, im, project); r != nil {
				t.Errorf("%s imports %s: %s", f.path, im, r.why)
			}
		}
	}
	// A rule about folders that are gone protects nothing.
	for _, r := range rules {
		for _, pattern := range slices.Concat(r.in, r.except) {
			if !slices.ContainsFunc(files, func(f goFile) bool { return matches(pattern, f.dir) }) {
				t.Errorf("the rule %q names %s, where no Go file is", r.why, pattern)
			}
		}
	}
}

// TestRules shows that the rules catch what they are for.
func TestRules(t *testing.T) {
	project := folders(goFiles(t))
	for _, c := range []struct {
		file, imports string
		ok            bool
	}{
		{"engine/sched/x.go", "app/openai", false},
		{"engine/x_test.go", "storage", false},
		{"engine/sched/x.go", "engine/exec", true},
		{"kernels/cpu/x.go", "engine/tensor", false},
		{"storage/x.go", "app/feed", false},
		{"storage/x.go", "go.etcd.io/bbolt", true},
		{"app/chats/x.go", "go.etcd.io/bbolt", false},
		{"app/chats/x_test.go", "go.etcd.io/bbolt/errors", false},
		{"app/cli/x.go", "engine/plan", false},
		{"app/cli/x.go", "engine/chat", true},
		{"app/cli/x.go", "fyne.io/fyne/v2", false},
		{"main.go", "fyne.io/fyne/v2/app", false},
		{"app/window/chat/x.go", "fyne.io/fyne/v2/widget", true},
		{"app/window/chat/x.go", "app/window/library", false},
		{"app/window/chat/x.go", "app/window/widget", true},
		{"app/window/chat/x.go", "storage", false},
		{"app/window/x.go", "net/http", false},
		{"app/window/x.go", "app/chats", false},
		{"app/server/x.go", "app/window", false},
		{"app/openai/x.go", "net/http", false},
		{"app/openai/x.go", "encoding/json", true},
		{"app/openai/x.go", "app/client", false},
		{"app/client/x.go", "net/http", true},
		{"app/client/x.go", "app/server", false},
		{"app/server/x.go", "storage", false},
		{"engine/arch/x.go", "engine/tensor", false},
		{"engine/arch/x.go", "kernels/cpu", false},
		{"engine/plan/x.go", "engine/device", false},
		{"engine/exec/x.go", "kernels/cpu", false},
		{"engine/device/x.go", "kernels/cpu", true},
		{"engine/device/x.go", "github.com/ebitengine/purego", true},
		{"app/library/x.go", "github.com/ebitengine/purego", false},
		{"engine/device/x.go", "C", false},
		{"kernels/cpu/x.go", "C", true},
		{"app/client/x.go", "github.com/openai/openai-go/v3", false},
		{"app/cli/x.go", "app/wire", false},
		{"app/prefs/x.go", "tests/fakecard", false},
	} {
		f := goFile{path: c.file, dir: path.Dir(c.file), test: strings.HasSuffix(c.file, "_test.go")}
		if r := broken(f, c.imports, project); (r == nil) != c.ok {
			t.Errorf("%s imports %s: allowed %v, expected %v", c.file, c.imports, r == nil, c.ok)
		}
	}
}

// broken returns the first rule that forbids f to import im, or nil. project holds the module's folders: the
// pattern "..." means those, not the standard library.
func broken(f goFile, im string, project map[string]bool) *rule {
	for i := range rules {
		r := &rules[i]
		if f.test && !r.tests || !matchesAny(r.in, f.dir) || matchesAny(r.except, f.dir) || matchesAny(r.allow, im) {
			continue
		}
		for _, d := range r.deny {
			if d == "..." && !project[im] && !project[top(im)] {
				continue
			}
			if matches(d, im) {
				return r
			}
		}
	}
	return nil
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

// matches tells whether a folder or import path is the pattern's, or below it for one that ends in /... .
func matches(pattern, name string) bool {
	tree, ok := strings.CutSuffix(pattern, "...")
	if !ok {
		return pattern == name
	}
	return tree == "" || strings.HasPrefix(name+"/", tree)
}

func top(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

// folders returns where the module's Go files are, and the first elements of those.
func folders(files []goFile) map[string]bool {
	all := map[string]bool{}
	for _, f := range files {
		all[f.dir], all[top(f.dir)] = true, true
	}
	return all
}

// TestLayersHaveAnOrder looks for cycles between layers: Go forbids them between packages only.
func TestLayersHaveAnOrder(t *testing.T) {
	uses := map[string]map[string]bool{}
	for _, f := range goFiles(t) {
		from := layer(f.dir)
		if f.test || from == "" {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string]bool{}
		}
		for _, im := range f.imports {
			if to := layer(im); to != "" && to != from {
				uses[from][to] = true
			}
		}
	}
	if c := cycle(uses); c != nil {
		t.Errorf("layers import each other: %s", strings.Join(c, " -> "))
	}
	if c := cycle(map[string]map[string]bool{"a": {"b": true}, "b": {"c": true}, "c": {"b": true}}); fmt.Sprint(c) != "[b c b]" {
		t.Errorf("a cycle is found as %v", c)
	}
}

// layer is the top folder, and in app and engine the one below it: engine/chat/jinja belongs to engine/chat.
// Empty for what is not of this module.
func layer(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	switch parts[0] {
	case "app", "engine", "kernels":
		return strings.Join(parts[:min(2, len(parts))], "/")
	case "storage", "assets", ".":
		return parts[0]
	}
	return ""
}

// cycle returns a path that ends where it begins, or nil.
func cycle(uses map[string]map[string]bool) []string {
	done := map[string]bool{}
	var way []string
	var visit func(string) []string
	visit = func(n string) []string {
		if i := slices.Index(way, n); i >= 0 {
			return append(slices.Clone(way[i:]), n)
		}
		if done[n] {
			return nil
		}
		way = append(way, n)
		for _, to := range slices.Sorted(maps.Keys(uses[n])) {
			if c := visit(to); c != nil {
				return c
			}
		}
		way = way[:len(way)-1]
		done[n] = true
		return nil
	}
	for _, n := range slices.Sorted(maps.Keys(uses)) {
		if c := visit(n); c != nil {
			return c
		}
	}
	return nil
}
