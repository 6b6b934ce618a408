package chats

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ingot/storage"
)

// TestMain is also the process that TestKilledProcess kills.
func TestMain(m *testing.M) {
	path := os.Getenv("CHATS_TEST_DB")
	if path == "" {
		os.Exit(m.Run())
	}
	db, err := storage.Open(path, storage.Options{})
	if err != nil {
		panic(err)
	}
	s, err := Open(db)
	if err != nil {
		panic(err)
	}
	c, _ := s.New(Start{})
	s.Append(c.ID, "count")
	d, err := s.BeginAnswer(c.ID, "m")
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		d.Append(fmt.Sprintln(i), "")
		fmt.Println(i, time.Now().UnixMilli())
		time.Sleep(10 * time.Millisecond)
	}
}

// crashed opens a copy of the database as a killed process would leave it, and returns the last answer.
func crashed(t *testing.T, path string, id storage.ID) storage.Message {
	t.Helper()
	b := must[[]byte](t)(os.ReadFile(path))
	copied := filepath.Join(t.TempDir(), "ingot.db")
	no(t, os.WriteFile(copied, b, 0o600))
	s, db := start(t, copied)
	defer db.Close()
	p := must[Thread](t)(s.Get(id)).Path
	return p[len(p)-1].Message
}

func TestAnswerIsOnDiskEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ingot.db")
		s, _ := start(t, path)
		id := must[storage.Conversation](t)(s.New(Start{})).ID
		must[storage.Message](t)(s.Append(id, "q"))
		d := must[*Draft](t)(s.BeginAnswer(id, "m"))
		synctest.Wait()
		if m := crashed(t, path, id); m.State != storage.StatePartial || m.Content != "" || m.Role != "assistant" {
			t.Errorf("before the first piece: %+v", m)
		}
		want := ""
		for i := range 100 { // 5 seconds, 20 pieces a second
			if i < 20 {
				d.Append("", "t")
			} else {
				d.Append("x", "")
			}
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			want += "x"
			m := crashed(t, path, id)
			if lag := len(want) - len(m.Content) - len(m.Reasoning); lag > 20 {
				t.Fatalf("%d pieces, more than a second, were lost", lag)
			}
		}
		// A pause: the last piece gets there without another one to push it.
		d.Append("end", "")
		time.Sleep(time.Second)
		synctest.Wait()
		if m := crashed(t, path, id); !strings.HasSuffix(m.Content, "end") || m.State != storage.StatePartial {
			t.Errorf("after a pause: %+v", m)
		}
		if m := must[Thread](t)(s.Get(id)); !m.Busy || m.Path[1].State != storage.StateWriting {
			t.Errorf("while writing: %+v", m.Path[1])
		}
		d.Append("!", "")
		no(t, d.Finish(storage.Stats{AnswerTokens: 102, DecodeRate: 20, Finish: "stop"}))
		m := crashed(t, path, id)
		if m.State != storage.StateComplete || !strings.HasSuffix(m.Content, "end!") || m.Stats.AnswerTokens != 102 || m.Thought != time.Second {
			t.Errorf("finished: %+v", m)
		}
		if now := d.Message(); now != m && now.Content != m.Content {
			t.Errorf("the draft says %+v", now)
		}
		d.Append("late", "")
		no(t, d.Stop(nil))
		time.Sleep(3 * time.Second)
		if m2 := crashed(t, path, id); m2 != m {
			t.Errorf("changed after its end: %+v", m2)
		}
	})
}

func TestWaysToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ingot.db")
		s, _ := start(t, path)
		id := must[storage.Conversation](t)(s.New(Start{})).ID
		must[storage.Message](t)(s.Append(id, "q"))
		d := must[*Draft](t)(s.BeginAnswer(id, "m"))
		if second(s.BeginAnswer(id, "m")) == nil || !errors.Is(second(s.Append(id, "q")), ErrBusy) || !errors.Is(second(s.Regenerate(id, d.Message().ID, "")), ErrBusy) {
			t.Error("two answers at once")
		}
		d.Append("The engine", "")
		no(t, d.Fail(errors.New("the engine stopped: out of memory")))
		m := crashed(t, path, id)
		if m.State != storage.StateError || m.Content != "The engine" || m.Error != "the engine stopped: out of memory" {
			t.Errorf("failed: %+v", m)
		}
		d = must[*Draft](t)(s.Continue(id, m.ID))
		d.Append(" goes on", "")
		if p := must[Thread](t)(s.Get(id)).Path; len(p) != 2 || p[1].Content != "The engine goes on" || p[1].Error != "" {
			t.Errorf("continued: %+v", p)
		}
		no(t, d.Stop(&storage.Stats{AnswerTokens: 4}))
		if m := crashed(t, path, id); m.State != storage.StateStopped || m.Content != "The engine goes on" || m.Stats.AnswerTokens != 4 {
			t.Errorf("stopped: %+v", m)
		}
		d = must[*Draft](t)(s.Regenerate(id, m.ID, "m"))
		d.Append("", "The user")
		no(t, d.Fail(errors.New("the engine stopped: out of memory")))
		d = must[*Draft](t)(s.Continue(id, d.Message().ID))
		d.Append("", "The user asks")
		if p := must[Thread](t)(s.Get(id)).Path; p[1].Content != "" || p[1].Reasoning != "The user asks" {
			t.Errorf("continued from thoughts: %+v", p)
		}
		d.Append("closing", "")
		no(t, s.Close())
		if m := crashed(t, path, id); m.State != storage.StatePartial || m.Content != "closing" {
			t.Errorf("closed: %+v", m)
		}
		if s.Writing(id) != nil {
			t.Error("still writing")
		}
	})
}

func TestPurgedWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fresh(t)
		id := must[storage.Conversation](t)(s.New(Start{})).ID
		must[storage.Message](t)(s.Append(id, "q"))
		d := must[*Draft](t)(s.BeginAnswer(id, "m"))
		must[func() error](t)(s.Delete(id))
		time.Sleep(time.Second)
		must[int](t)(s.Purge(0))
		d.Append("x", "")
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.Writing(id) != nil {
			t.Error("the draft is still there")
		}
		no(t, d.Finish(storage.Stats{}))
	})
}

func TestKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingot.db")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHATS_TEST_DB="+path)
	pipe := must[interface{ Read([]byte) (int, error) }](t)(cmd.StdoutPipe())
	no(t, cmd.Start())
	var times []int64
	for n := 0; len(times) < 200; {
		var at int64
		if _, err := fmt.Fscan(pipe, &n, &at); err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
	}
	killed := time.Now().UnixMilli()
	no(t, cmd.Process.Signal(syscall.SIGKILL))
	cmd.Wait()

	s, _ := start(t, path)
	id := must[[]storage.Conversation](t)(s.List())[0].ID
	p := must[Thread](t)(s.Get(id)).Path
	m := p[len(p)-1]
	kept := strings.Count(m.Content, "\n")
	if m.State != storage.StatePartial || kept == 0 {
		t.Fatalf("after the kill: %+v", m)
	}
	if kept < len(times) && killed-times[kept] > 5000 { // a second, and room for a busy machine; the fake clock above is exact
		t.Errorf("a piece %d ms old was lost", killed-times[kept])
	}
	d := must[*Draft](t)(s.Continue(id, m.ID))
	d.Append("more", "")
	no(t, d.Finish(storage.Stats{}))
}

func TestChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fresh(t)
		var got []string
		var mu sync.Mutex
		names := map[Kind]string{Added: "added", Changed: "changed", Removed: "removed", Messages: "messages", Text: "text", Finished: "finished", SaveFailed: "failed"}
		cancel := s.Subscribe(func(c Change) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, names[c.Kind])
			s.Get(c.Conversation) // no lock is held
		})
		id := must[storage.Conversation](t)(s.New(Start{})).ID
		must[storage.Message](t)(s.Append(id, "q"))
		d := must[*Draft](t)(s.BeginAnswer(id, "m"))
		d.Append("x", "")
		no(t, d.Finish(storage.Stats{}))
		no(t, must[func() error](t)(s.Delete(id))())
		cancel()
		no(t, s.Rename(id, "x"))
		want := "added messages changed messages changed text finished changed removed added"
		if strings.Join(got, " ") != want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
		}
	})
}

func TestFailedSavesAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db := start(t, filepath.Join(t.TempDir(), "ingot.db"))
		id := must[storage.Conversation](t)(s.New(Start{})).ID
		must[storage.Message](t)(s.Append(id, "q"))
		d := must[*Draft](t)(s.BeginAnswer(id, "m"))
		failures := 0
		s.Subscribe(func(c Change) {
			if c.Kind == SaveFailed && c.Err != nil {
				failures++
			}
		})
		no(t, db.Close()) // every write fails from here
		d.Append("kept", "")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if failures < 3 {
			t.Errorf("told of %d failures", failures)
		}
		if err := d.Finish(storage.Stats{}); !errors.Is(err, storage.ErrClosed) {
			t.Error("finish:", err)
		}
		if m := d.Message(); m.Content != "kept" || s.Writing(id) != d {
			t.Errorf("the text in memory: %+v", m)
		}
		db2, err := storage.Open(db.Path(), storage.Options{})
		no(t, err)
		defer db2.Close()
		s.db = db2 // there is room again
		no(t, d.Finish(storage.Stats{}))
		if m := must[Thread](t)(s.Get(id)).Path[1]; m.Content != "kept" || m.State != storage.StateComplete {
			t.Errorf("%+v", m)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	s := fresh(t)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			c, err := s.New(Start{})
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 3 {
				s.Append(c.ID, fmt.Sprint("q", i, j))
				d, err := s.BeginAnswer(c.ID, "m")
				if err != nil {
					t.Error(err)
					return
				}
				for k := range 50 {
					d.Append(fmt.Sprint(k), "r")
					if k%10 == 0 {
						s.Get(c.ID)
						s.List()
					}
				}
				if err := d.Finish(storage.Stats{}); err != nil {
					t.Error(err)
				}
			}
			th, err := s.Get(c.ID)
			if err != nil || len(th.Path) != 6 || !strings.HasSuffix(th.Path[5].Content, "4849") {
				t.Errorf("%v %v", th, err)
			}
		})
	}
	wg.Wait()
	var b bytes.Buffer
	no(t, s.Export(1, &b))
}
