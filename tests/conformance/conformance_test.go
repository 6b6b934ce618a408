// Package conformance compares Ingot, through its command line, with what other programs answered. The recordings lie
// in ../shared/reference beside the checkout; where they are absent the tests are skipped.
package conformance

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ingot/app/cli"
)

// reference returns a path below the recordings.
func reference(t testing.TB, name ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", "..", "..", "shared", "reference"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no reference data beside the checkout")
	}
	return path
}

// ingot runs one command line in this process; models are paths.
func ingot(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, bad bytes.Buffer
	env := &cli.Env{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &bad, Version: "test",
		Resolve: func(ref string) (string, error) { return ref, nil }}
	code = cli.Main(context.Background(), env, args)
	return out.String(), bad.String(), code
}
