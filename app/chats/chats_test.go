package chats

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ingot/storage"
)

func start(t testing.TB, path string) (*Service, *storage.DB) {
	t.Helper()
	db, err := storage.Open(path, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := Open(db)
	if err != nil {
		t.Fatal(err)
	}
	return s, db
}

func fresh(t testing.TB) *Service {
	t.Helper()
	s, _ := start(t, filepath.Join(t.TempDir(), "ingot.db"))
	return s
}

// must takes a value and fails on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func no(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shown is the path as text, with "n/m" where there are siblings.
func shown(t *testing.T, s *Service, id storage.ID) string {
	t.Helper()
	th := must[Thread](t)(s.Get(id))
	var parts []string
	for _, n := range th.Path {
		p := n.Content
		if len(n.Siblings) > 1 {
			p += " " + string(rune('1'+n.Index)) + "/" + string(rune('0'+len(n.Siblings)))
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, ", ")
}

func answer(t *testing.T, s *Service, id storage.ID, text string) storage.ID {
	t.Helper()
	d := must[*Draft](t)(s.BeginAnswer(id, "m"))
	d.Append(text, "")
	no(t, d.Finish(storage.Stats{}))
	return d.Message().ID
}

func TestListRenameDeleteUndo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fresh(t)
		titles := func() string {
			var got []string
			for _, c := range must[[]storage.Conversation](t)(s.List()) {
				got = append(got, c.Title)
			}
			return strings.Join(got, " ")
		}
		ids := map[string]storage.ID{}
		for _, n := range []string{"a", "b", "c"} {
			c := must[storage.Conversation](t)(s.New(Start{Model: "m", Reasoning: "off"}))
			ids[n] = c.ID
			must[storage.Message](t)(s.Append(c.ID, n))
			time.Sleep(time.Minute)
		}
		if got := titles(); got != "c b a" {
			t.Error(got)
		}
		must[storage.Message](t)(s.Append(ids["a"], "again"))
		if got := titles(); got != "a c b" {
			t.Error("after a message to a:", got)
		}
		no(t, s.SetPinned(ids["b"], true))
		no(t, s.Rename(ids["c"], "  Sea \n and  sky "))
		if got := titles(); got != "b a Sea and sky" {
			t.Error("pinned and renamed:", got)
		}
		no(t, s.Rename(ids["c"], ""))
		if got := titles(); got != "b a c" {
			t.Error("an empty name:", got)
		}

		undo, err := s.Delete(ids["a"])
		no(t, err)
		if got := titles(); got != "b c" {
			t.Error("deleted:", got)
		}
		no(t, undo())
		if got := titles(); got != "b a c" {
			t.Error("brought back:", got)
		}
		if got := shown(t, s, ids["a"]); got != "a, again" {
			t.Error("its messages:", got)
		}

		must[func() error](t)(s.Delete(ids["a"]))
		time.Sleep(time.Hour)
		undo = must[func() error](t)(s.Delete(ids["c"]))
		if n, err := s.Purge(30 * time.Minute); n != 1 || err != nil {
			t.Errorf("purged %d %v", n, err)
		}
		if tr := must[[]storage.Conversation](t)(s.Trash()); len(tr) != 1 || tr[0].ID != ids["c"] {
			t.Errorf("trash %v", tr)
		}
		if err := s.Restore(ids["a"]); !errors.Is(err, storage.ErrNotFound) {
			t.Error("restore what is purged:", err)
		}
		if n, err := s.Purge(0); n != 1 || err != nil {
			t.Errorf("emptied %d %v", n, err)
		}
		if err := undo(); !errors.Is(err, storage.ErrNotFound) {
			t.Error("undo what is purged:", err)
		}
	})
}

func TestSettingsOfAConversation(t *testing.T) {
	s := fresh(t)
	c := must[storage.Conversation](t)(s.New(Start{}))
	no(t, s.SetModel(c.ID, "qwen"))
	no(t, s.SetReasoning(c.ID, "on"))
	no(t, s.SetSystem(c.ID, "Be brief."))
	no(t, s.SetFolder(c.ID, "work"))
	if err := s.SetReasoning(c.ID, "maybe"); err == nil {
		t.Error("reasoning maybe")
	}
	if _, err := s.New(Start{Reasoning: "maybe"}); err == nil {
		t.Error("new with reasoning maybe")
	}
	got := must[Thread](t)(s.Get(c.ID)).Conversation
	if got.Model != "qwen" || got.Reasoning != "on" || got.System != "Be brief." || got.Folder != "work" {
		t.Errorf("%+v", got)
	}
	if err := s.SetModel(77, "x"); !errors.Is(err, storage.ErrNotFound) {
		t.Error(err)
	}
}

func TestBranches(t *testing.T) {
	s := fresh(t)
	id := must[storage.Conversation](t)(s.New(Start{})).ID
	q1 := must[storage.Message](t)(s.Append(id, "q1")).ID
	a1 := answer(t, s, id, "a1")
	must[storage.Message](t)(s.Append(id, "q2"))
	answer(t, s, id, "a2")
	expect := func(want string) {
		t.Helper()
		if got := shown(t, s, id); got != want {
			t.Errorf("shown %q, want %q", got, want)
		}
	}
	expect("q1, a1, q2, a2")

	d := must[*Draft](t)(s.Regenerate(id, a1, "other"))
	d.Append("b1", "")
	expect("q1, b1 2/2") // while it is written
	no(t, d.Finish(storage.Stats{}))
	b1 := d.Message()
	if b1.Model != "other" || b1.Parent != q1 {
		t.Errorf("%+v", b1)
	}
	must[storage.Message](t)(s.Append(id, "q3"))
	expect("q1, b1 2/2, q3")
	no(t, s.Switch(id, a1))
	expect("q1, a1 1/2, q2, a2")
	no(t, s.Switch(id, b1.ID))
	expect("q1, b1 2/2, q3")

	e1 := must[storage.Message](t)(s.Edit(id, q1, "Q1")).ID
	expect("Q1 2/2")
	answer(t, s, id, "A1")
	expect("Q1 2/2, A1")
	no(t, s.Switch(id, q1))
	expect("q1 1/2, b1 2/2, q3") // as it was left
	no(t, s.Switch(id, a1))
	no(t, s.Switch(id, e1))
	no(t, s.Switch(id, q1))
	expect("q1 1/2, a1 1/2, q2, a2") // the choice below was remembered

	for what, err := range map[string]error{
		"edit an answer":        second(s.Edit(id, a1, "x")),
		"regenerate a question": second(s.Regenerate(id, q1, "")),
		"continue a question":   second(s.Continue(id, q1)),
		"continue not the leaf": second(s.Continue(id, a1)),
	} {
		if !errors.Is(err, ErrWrongMessage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Switch(id, 999); !errors.Is(err, storage.ErrNotFound) {
		t.Error(err)
	}
	if err := second(s.Append(id, " \n")); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	if err := second(s.BeginAnswer(id, "")); !errors.Is(err, ErrNothingToAnswer) {
		t.Error("an answer to an answer:", err)
	}
	if err := second(s.BeginAnswer(must[storage.Conversation](t)(s.New(Start{})).ID, "")); !errors.Is(err, ErrNothingToAnswer) {
		t.Error("an answer to nothing:", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestTitles(t *testing.T) {
	for in, want := range map[string]string{
		"Hello":         "Hello",
		"  two\n lines": "two lines",
		"Why is the sky blue on some days, and grey on others, and red at night?": "Why is the sky blue on some days, and grey on…",
		strings.Repeat("x", 60):                     strings.Repeat("x", 47) + "…",
		strings.Repeat("天空为什么是蓝色的", 8):              string([]rune(strings.Repeat("天空为什么是蓝色的", 8))[:47]) + "…",
		strings.Repeat("y", 46) + "e\u0301" + "zzz": strings.Repeat("y", 46) + "…",
		strings.Repeat("z", 48):                     strings.Repeat("z", 48),
	} {
		if got := title(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if n := len([]rune(title(in))); n > titleRunes {
			t.Errorf("%q has %d runes", title(in), n)
		}
	}
}
