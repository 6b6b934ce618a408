package cpu

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The kernels stand alone: no file here but tests imports another package of the project.
func TestImportsNothingOfTheProject(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") { // examples show how others use it
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); path == "ingot" || strings.HasPrefix(path, "ingot/") {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}
