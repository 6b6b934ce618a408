// Package cli holds scripts that say how the command line behaves: one txtar file a subject in testdata, run against
// the whole program but the window. Every script has its own library and home folder.
package cli

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ingot/app/wire"
	"ingot/storage"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ingot": func() { os.Exit(wire.Main("test", os.Args[1:])) },
	})
}

func TestScripts(t *testing.T) {
	sample, err := filepath.Abs("../../assets/sample/sample-Q8_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir() // shared: the sample model is unpacked once
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Vars = append(e.Vars, "HOME="+home, "INGOT_DATA="+filepath.Join(e.WorkDir, "data"), "INGOT_CACHE="+cache,
				"DISPLAY=", "WAYLAND_DISPLAY=", "SAMPLE="+sample)
			e.Values[holder{}] = &holder{}
			return os.Mkdir(home, 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"badgguf":  badGGUF,
			"hold":     hold,
			"freeport": freePort,
			"waitport": waitPort,
			"oneline":  oneLine,
		},
	})
}

// holder is the database that a script has opened.
type holder struct{ db *storage.DB }

// hold opens the library as a second process would, until the script says `! hold` or ends.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	h := ts.Value(holder{}).(*holder)
	if neg {
		ts.Check(h.db.Close())
		return
	}
	db, err := storage.Open(filepath.Join(ts.Getenv("INGOT_DATA"), "ingot.db"), storage.Options{})
	ts.Check(err)
	h.db = db
	ts.Setenv("HOLDER", strconv.Itoa(os.Getpid()))
	ts.Defer(func() { db.Close() })
}

// freePort puts a port that nobody listens on into a variable.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer l.Close()
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// waitPort waits until somebody listens on a port.
func waitPort(ts *testscript.TestScript, neg bool, args []string) {
	for range 200 {
		if c, err := net.DialTimeout("tcp", "127.0.0.1:"+args[0], time.Second); err == nil {
			c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("nobody listens on port %s", args[0])
}

// oneLine checks that the last command said what went wrong in exactly one line of standard error that begins with
// "ingot", and printed nothing else.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	stderr, stdout := ts.ReadFile("stderr"), ts.ReadFile("stdout")
	if !strings.HasPrefix(stderr, "ingot") || strings.Index(stderr, "\n") != len(stderr)-1 {
		ts.Fatalf("expected one line on standard error, got %q", stderr)
	}
	if stdout != "" {
		ts.Fatalf("expected nothing on standard output, got %q", stdout)
	}
}
