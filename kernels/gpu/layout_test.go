package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// mirrors are the Go structs that are passed to kernels; XxxArgs mirrors struct xxx_args.
var mirrors = []any{QuantizeArgs{}, MatmulArgs{}, ExpertsArgs{}, RepackArgs{}, GroupArgs{}, NormArgs{}, RopeArgs{}, KVStoreArgs{}, AttentionArgs{}, ConvArgs{}, DeltaArgs{}, GLUArgs{},
	AddArgs{}, ZeroArgs{}, GatherArgs{}, RouteArgs{}, CombineArgs{}, TopKArgs{}, AllReduceArgs{}, AllGatherArgs{}, Exchange{}}

var (
	comments = regexp.MustCompile(`//.*`)
	structs  = regexp.MustCompile(`(?s)struct (\w+) \{(.*?)\n\};`)
	names    = regexp.MustCompile(`(\w+)(?:\[[^]]*\])?\s*[,;]`)
	word     = regexp.MustCompile(`[a-z][A-Z]|[A-Z][A-Z][a-z]`)
)

// headerName is the name of a Go struct in the headers: KVStoreArgs is kv_store_args.
func headerName(s string) string {
	for word.MatchString(s) {
		at := word.FindStringIndex(s)[0] + 1
		s = s[:at] + "_" + s[at:]
	}
	return strings.ToLower(s)
}

// fieldsOf is the names of the fields of each struct of the headers, in order.
func fieldsOf(t *testing.T) (fields map[string][]string, headers []string) {
	t.Helper()
	headers, err := filepath.Glob("args*.h")
	if err != nil || len(headers) == 0 {
		t.Fatal("no headers of arguments", err)
	}
	fields = map[string][]string{}
	for _, h := range headers {
		text, err := os.ReadFile(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range structs.FindAllStringSubmatch(comments.ReplaceAllString(string(text), ""), -1) {
			for _, f := range names.FindAllStringSubmatch(m[2], -1) {
				fields[m[1]] = append(fields[m[1]], f[1])
			}
		}
	}
	return fields, headers
}

// The compiler's own word on where each field of each header's struct lies, against Go's.
func TestArgsHaveTheLayoutOfTheHeaders(t *testing.T) {
	fields, headers := fieldsOf(t)
	var b strings.Builder
	b.WriteString("#include <stddef.h>\n#include <stdint.h>\ntypedef int8_t i8; typedef uint8_t u8; typedef int16_t i16; typedef uint16_t u16; typedef uint32_t u32;\n" +
		"typedef long long i64; typedef unsigned long long u64;\n")
	for _, h := range headers {
		fmt.Fprintf(&b, "#include %q\n", h)
	}
	for _, m := range mirrors {
		typ := reflect.TypeOf(m)
		name := headerName(typ.Name())
		if len(fields[name]) != typ.NumField() {
			t.Errorf("%s has %d fields, struct %s of the headers %d", typ.Name(), typ.NumField(), name, len(fields[name]))
			continue
		}
		fmt.Fprintf(&b, "static_assert(sizeof(%s) == %d, \"size\");\n", name, typ.Size())
		for i, c := range fields[name] {
			f := typ.Field(i)
			if f.Name != "_" && strings.ToLower(f.Name) != strings.ReplaceAll(c, "_", "") {
				t.Errorf("field %d of %s is %s, of struct %s %s", i, typ.Name(), f.Name, name, c)
			}
			fmt.Fprintf(&b, "static_assert(offsetof(%s, %s) == %d && sizeof(((%s *)0)->%s) == %d, \"%s\");\n", name, c, f.Offset, name, c, f.Type.Size(), f.Name)
		}
	}
	src := filepath.Join(t.TempDir(), "layout.cpp")
	if err := os.WriteFile(src, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cxx, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("no C++ compiler")
	}
	if out, err := exec.Command(cxx, "-std=c++14", "-fsyntax-only", "-I.", src).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every module's text is whole: what it includes is in it, and nothing is left to include.
func TestSourceIsWhole(t *testing.T) {
	for _, d := range []string{"hip", "cuda"} {
		for _, m := range Modules(d) {
			text, err := Source(d, m)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, "\n#include \"") {
				t.Errorf("%v for %s still includes a file", m, d)
			}
			if !strings.Contains(text, "KERNEL(") {
				t.Errorf("%v for %s has no kernel", m, d)
			}
		}
	}
	if _, err := Source("hip", Module{File: "absent.gpu"}); err == nil {
		t.Error("a file that is not there has a source")
	}
}
