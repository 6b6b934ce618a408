package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the other process of the tests below.
func TestMain(m *testing.M) {
	path := os.Getenv("STORAGE_TEST_DB")
	switch os.Getenv("STORAGE_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "second": // says what a second process is told
		_, err := Open(path, Options{})
		fmt.Println(errors.Is(err, ErrInUse), err)
	case "writer": // writes until it is killed, and prints what is certainly on disk
		db, err := Open(path, Options{})
		if err != nil {
			panic(err)
		}
		for i := 1; ; i++ {
			if err := db.Update(func(tx *Tx) error { return tx.PutSetting("n", i) }); err != nil {
				panic(err)
			}
			fmt.Println(i)
		}
	case "limited": // the file may grow to 256 KiB
		signal.Ignore(syscall.SIGXFSZ)
		lim := syscall.Rlimit{Cur: 256 << 10, Max: 256 << 10}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lim); err != nil {
			panic(err)
		}
		fmt.Print(fill(path))
	}
}

func other(role, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORAGE_TEST_ROLE="+role, "STORAGE_TEST_DB="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestSecondProcessIsToldWho(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingot.db")
	db := open(t, path)
	out, err := other("second", path).Output()
	want := fmt.Sprintf("true already open in another Ingot (process %d)\n", os.Getpid())
	if err != nil || string(out) != want {
		t.Errorf("got %q %v, want %q", out, err, want)
	}
	if _, err := Open(path, Options{Timeout: time.Millisecond}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "this Ingot") {
		t.Errorf("the same process: %v", err)
	}
	db.Close()
	if out, _ := other("second", path).Output(); string(out) != "false <nil>\n" {
		t.Errorf("after the first closed: %q", out)
	}
}

// The side file only makes a message better: one that never ends when it is read keeps nobody waiting.
func TestHolderIsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingot.db")
	if err := syscall.Mkfifo(path+".pid", 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	if _, err := Open(path, Options{Timeout: time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second time: %v", err)
	}
	db.Close()
}

func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingot.db")
	cmd := other("writer", path)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := 0
	for last < 20 {
		if _, err := fmt.Fscan(pipe, &last); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	db := open(t, path) // the lock went with the process, the side file did not
	var n int
	view(t, db, func(tx *Tx) error { return tx.Setting("n", &n) })
	if n < last {
		t.Errorf("%d on disk, the process was told of %d", n, last)
	}
}

// fill writes messages until the disk refuses and reports on what is then there.
func fill(path string) string {
	db, err := Open(path, Options{})
	if err != nil {
		return "open: " + err.Error()
	}
	c := Conversation{Title: "big"}
	if err := db.Update(func(tx *Tx) error { return tx.PutConversation(&c) }); err != nil {
		return "first write: " + err.Error()
	}
	saved := 0
	for ; err == nil && saved < 1000; saved++ {
		err = db.Update(func(tx *Tx) error {
			return tx.PutMessage(c.ID, &Message{Role: "user", Content: strings.Repeat("x", 50_000), State: StateComplete})
		})
	}
	saved--
	var b strings.Builder
	fmt.Fprintf(&b, "disk full: %v\n", errors.Is(err, ErrDiskFull))
	count := func(db *DB) {
		db.View(func(tx *Tx) error {
			ms, err := tx.Messages(c.ID)
			fmt.Fprintf(&b, "lost: %d %v\n", saved-len(ms), err)
			return nil
		})
	}
	count(db)
	// Making room inside the file works, and then there is room again.
	err = db.Update(func(tx *Tx) error { return tx.DeleteConversation(c.ID) })
	if err == nil {
		err = db.Update(func(tx *Tx) error { return tx.PutConversation(&Conversation{Title: "after"}) })
	}
	fmt.Fprintf(&b, "after: %v\n", err)
	db.Close()
	if db, err = Open(path, Options{}); err != nil {
		return b.String() + "reopen: " + err.Error()
	}
	defer db.Close()
	db.View(func(tx *Tx) error {
		cs, err := tx.Conversations(0)
		fmt.Fprintf(&b, "reopened: %d %v\n", len(cs), err)
		return nil
	})
	return b.String()
}

const filled = "disk full: true\nlost: 0 <nil>\nafter: <nil>\nreopened: 1 <nil>\n"

func TestFileSizeLimit(t *testing.T) {
	out, err := other("limited", filepath.Join(t.TempDir(), "ingot.db")).Output()
	if err != nil || string(out) != filled {
		t.Errorf("got %v\n%s", err, out)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := tinyDisk(dir, 512<<10); err != nil {
		t.Skip("no small file system here:", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) })
	if out := fill(filepath.Join(dir, "ingot.db")); out != filled {
		t.Errorf("got\n%s", out)
	}
	// A full disk before the first byte: no half-made file is left behind.
	os.Remove(filepath.Join(dir, "ingot.db"))
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not small")
	}
	path := filepath.Join(dir, "new", "ingot.db")
	_, err := Open(path, Options{})
	if !errors.Is(err, ErrDiskFull) {
		t.Errorf("open on a full disk: %v", err)
	}
	t.Log(err)
	os.Remove(filepath.Join(dir, "ballast"))
	open(t, path).Close()
}

func TestDamagedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingot.db")
	db := open(t, path)
	for i := range 40 {
		update(t, db, func(tx *Tx) error {
			c := Conversation{Title: strings.Repeat("t", 200), Updated: at(i)}
			return errors.Join(tx.PutConversation(&c), tx.PutMessage(c.ID, &Message{Content: strings.Repeat("x", 3000)}))
		})
	}
	db.Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(good, "\x00"))
	read := func(db *DB) error {
		return db.View(func(tx *Tx) error {
			cs, err := tx.Conversations(0)
			for _, c := range cs {
				_, e := tx.Messages(c.ID)
				err = errors.Join(err, e)
			}
			return err
		})
	}
	tryFile := func(b []byte) error {
		path := filepath.Join(t.TempDir(), "ingot.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path, Options{})
		if err != nil {
			if now, _ := os.ReadFile(path); !bytes.Equal(now, b) {
				t.Errorf("the damaged file was changed: %v", err)
			}
			return err
		}
		defer db.Close()
		return read(db)
	}

	for name, b := range map[string][]byte{
		"text":        []byte(strings.Repeat("Dear diary, ", 4000)),
		"one byte":    {1},
		"zeros":       make([]byte, 64<<10),
		"first page":  good[:4096],
		"three pages": good[:3*4096],
		"half":        good[:used/2/4096*4096],
		"no metas":    append(make([]byte, 8192), good[8192:]...),
	} {
		err := tryFile(b)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(name+":", err)
	}

	// Bytes changed at random: an answer or an error, never an end of the process.
	rnd := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 150 {
		b := bytes.Clone(good)
		for range 8 {
			b[rnd.IntN(used)] = byte(rnd.Uint32())
		}
		if err := tryFile(b); err != nil {
			failed++
		}
	}
	t.Logf("%d of 150 randomly changed files were refused", failed)
	if failed == 0 {
		t.Error("no damage was seen")
	}
}

// A library cut short is moved away whole, to a name that is free, and the next Open makes a new one.
func TestSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingot.db")
	db := open(t, path)
	if _, err := SetAside(path); !errors.Is(err, ErrInUse) {
		t.Errorf("a database in use: %v", err)
	}
	if err := db.Update(func(tx *Tx) error { return tx.PutSetting("long", strings.Repeat("x", 100_000)) }); err != nil {
		t.Fatal(err)
	}
	db.Close()
	cut, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut = cut[:20_000]
	for n := 1; n <= 2; n++ {
		if err := os.WriteFile(path, cut, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, Options{})
		if !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "runtime error") {
			t.Errorf("a file cut short: %v", err)
		}
		want := fmt.Sprintf("%s.damaged-%d.db", strings.TrimSuffix(path, ".db"), n)
		aside, err := SetAside(path)
		if err != nil || aside != want {
			t.Errorf("moved to %q, %v, want %q", aside, err, want)
		}
		if kept, err := os.ReadFile(want); err != nil || !bytes.Equal(kept, cut) {
			t.Errorf("%s is not the old file: %v", want, err)
		}
		open(t, path).Close()
	}
}
