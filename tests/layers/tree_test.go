// Package layers tests the shape of the tree: who imports whom, names, lengths. Each rule is data with its reason.
package layers

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "ingot"

// root is the repository's, from this package's folder, where go test runs.
const root = "../.."

// goFile is what the rules see of one Go file.
type goFile struct {
	path    string // from the root, with slashes
	dir     string // of the package; "." is the root
	pkg     string
	test    bool
	imports []string // "ingot/engine" as "engine"; others as written
}

// sources returns the paths of all files of the project, from the root. What is built or made lies in folders
// that are left out.
func sources(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && rel != "." && rel != ".ci"
			if hidden || slices.Contains([]string{"bin", "build", "screenshots", "assets/sample/run", "__pycache__"}, rel) {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			all = append(all, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goFiles parses the imports of every Go file, whatever its build tags.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var all []goFile
	set := token.NewFileSet()
	for _, p := range sources(t) {
		if path.Ext(p) != ".go" || strings.Contains(p, "testdata/") {
			continue
		}
		f, err := parser.ParseFile(set, filepath.Join(root, p), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		g := goFile{path: p, dir: path.Dir(p), pkg: f.Name.Name, test: strings.HasSuffix(p, "_test.go")}
		for _, im := range f.Imports {
			name, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			g.imports = append(g.imports, local(name))
		}
		all = append(all, g)
	}
	if len(all) < 100 {
		t.Fatalf("only %d Go files found below %s", len(all), root)
	}
	return all
}

// local writes an import path of this module as the folder, "." for the root.
func local(name string) string {
	if name == module {
		return "."
	}
	return strings.TrimPrefix(name, module+"/")
}

// text returns a file's content, or false for one that is not text.
func text(t *testing.T, p string) (string, bool) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, p))
	if err != nil {
		t.Fatal(err)
	}
	return string(b), bytes.IndexByte(b[:min(len(b), 8000)], 0) < 0
}
