package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func open(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func update(t *testing.T, db *DB, fn func(*Tx) error) {
	t.Helper()
	if err := db.Update(fn); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, db *DB, fn func(*Tx) error) {
	t.Helper()
	if err := db.View(fn); err != nil {
		t.Fatal(err)
	}
}

// at is a time that survives JSON unchanged.
func at(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 7, time.UTC) }

func TestReopenFindsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "ingot.db")
	db := open(t, path)
	c := Conversation{Title: "Tides", Model: "sample", Reasoning: "off", Created: at(0), Updated: at(1), Chosen: map[ID]ID{0: 4}}
	m := Message{Role: "assistant", Content: "The moon.", Reasoning: "Why?", Thought: time.Second, State: StateComplete,
		Created: at(1), Stats: Stats{PromptTokens: 3, DecodeRate: 12.5}}
	mod := Model{Name: "qwen", Paths: []string{"/m/qwen.gguf"}, Source: "added", Added: at(2), Info: ModelInfo{Architecture: "qwen3", Parameters: 1e9}}
	update(t, db, func(tx *Tx) error {
		return errors.Join(tx.PutConversation(&c), tx.PutMessage(c.ID, &m), tx.PutModel(&mod), tx.PutSetting("theme", "dark"))
	})
	if c.ID == 0 || m.ID == 0 || mod.ID == 0 {
		t.Fatalf("ids: %d %d %d", c.ID, m.ID, mod.ID)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode: %v %v", st.Mode(), err)
	}
	if _, err := os.Stat(path + ".pid"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the side file is still there: %v", err)
	}

	db = open(t, path)
	view(t, db, func(tx *Tx) error {
		gc, err := tx.Conversation(c.ID)
		if err != nil || gc.Title != c.Title || gc.Reasoning != "off" || !gc.Updated.Equal(c.Updated) || gc.Chosen[0] != 4 {
			t.Errorf("conversation %+v %v", gc, err)
		}
		gm, err := tx.Message(c.ID, m.ID)
		if err != nil || gm != m {
			t.Errorf("message\n%+v, want\n%+v %v", gm, m, err)
		}
		gmod, err := tx.Model(mod.ID)
		if err != nil || gmod.Paths[0] != mod.Paths[0] || gmod.Info.Parameters != 1e9 {
			t.Errorf("model %+v %v", gmod, err)
		}
		var theme string
		if err := tx.Setting("theme", &theme); err != nil || theme != "dark" {
			t.Errorf("setting %q %v", theme, err)
		}
		return nil
	})
}

func TestListsAreNewestFirst(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "ingot.db"))
	cs := make([]Conversation, 5)
	update(t, db, func(tx *Tx) error {
		for i := range cs {
			cs[i] = Conversation{Title: string(rune('a' + i)), Updated: at(i)}
			if err := tx.PutConversation(&cs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	expect := func(what, want string) {
		t.Helper()
		view(t, db, func(tx *Tx) error {
			list, err := tx.Conversations(0)
			if what == "trash" {
				list, err = tx.Trash()
			}
			var got string
			for _, c := range list {
				got += c.Title
			}
			if got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
			return err
		})
	}
	expect("list", "edcba")

	update(t, db, func(tx *Tx) error { cs[1].Updated = at(9); return tx.PutConversation(&cs[1]) })
	expect("list", "bedca")
	update(t, db, func(tx *Tx) error {
		cs[3].Deleted, cs[0].Deleted = at(20), at(21)
		return errors.Join(tx.PutConversation(&cs[3]), tx.PutConversation(&cs[0]))
	})
	expect("list", "bec")
	expect("trash", "ad")
	update(t, db, func(tx *Tx) error { cs[3].Deleted = time.Time{}; return tx.PutConversation(&cs[3]) })
	expect("list", "bedc")
	update(t, db, func(tx *Tx) error { return tx.DeleteConversation(cs[0].ID) })
	expect("trash", "")
	view(t, db, func(tx *Tx) error {
		if list, _ := tx.Conversations(2); len(list) != 2 || list[0].Title != "b" {
			t.Errorf("limit 2: %v", list)
		}
		if _, err := tx.Conversation(cs[0].ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("a conversation that is gone: %v", err)
		}
		return nil
	})
}

func TestMessagesOfConversations(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "ingot.db"))
	a, b := Conversation{Updated: at(1)}, Conversation{Updated: at(2)}
	var ma, mb, w Message
	update(t, db, func(tx *Tx) error {
		w.State = StateWriting
		return errors.Join(tx.PutConversation(&a), tx.PutConversation(&b), tx.PutMessage(a.ID, &ma), tx.PutMessage(b.ID, &mb), tx.PutMessage(a.ID, &w))
	})
	view(t, db, func(tx *Tx) error {
		if ms, err := tx.Messages(a.ID); err != nil || len(ms) != 2 || ms[0].ID != ma.ID || ms[1].ID != w.ID {
			t.Errorf("messages of a: %v %v", ms, err)
		}
		if _, err := tx.Message(a.ID, mb.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("b's message in a: %v", err)
		}
		if ps, err := tx.Writing(); err != nil || len(ps) != 1 || ps[0] != (Place{a.ID, w.ID}) {
			t.Errorf("writing: %v %v", ps, err)
		}
		return nil
	})
	if err := db.Update(func(tx *Tx) error { return tx.PutMessage(99, &Message{}) }); !errors.Is(err, ErrNotFound) {
		t.Errorf("a message of no conversation: %v", err)
	}

	update(t, db, func(tx *Tx) error { return tx.DeleteConversation(a.ID) })
	view(t, db, func(tx *Tx) error {
		if ps, _ := tx.Writing(); len(ps) != 0 {
			t.Errorf("writing after the conversation was removed: %v", ps)
		}
		if ms, _ := tx.Messages(b.ID); len(ms) != 1 {
			t.Errorf("messages of b: %v", ms)
		}
		return nil
	})
	var next Message
	update(t, db, func(tx *Tx) error { return tx.PutMessage(b.ID, &next) })
	if next.ID <= w.ID {
		t.Errorf("id %d was used before", next.ID)
	}
}

func TestUpdateIsWhole(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "ingot.db"))
	stop := errors.New("stop")
	err := db.Update(func(tx *Tx) error {
		return errors.Join(tx.PutModel(&Model{Name: "x"}), stop)
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	view(t, db, func(tx *Tx) error {
		if ms, _ := tx.Models(); len(ms) != 0 {
			t.Errorf("half an update: %v", ms)
		}
		return nil
	})
	func() {
		defer func() {
			if recover() != "a bug" {
				t.Error("a panic of the caller did not come through")
			}
		}()
		db.Update(func(tx *Tx) error { panic("a bug") })
	}()
	update(t, db, func(tx *Tx) error { return tx.DeleteSetting("none") }) // the lock was let go
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	db := open(t, filepath.Join(dir, "ingot.db"))
	view(t, db, func(tx *Tx) error {
		v := 7
		if err := tx.Setting("none", &v); !errors.Is(err, ErrNotFound) || v != 7 {
			t.Errorf("no setting: %v %d", err, v)
		}
		if _, err := tx.Model(3); !errors.Is(err, ErrNotFound) {
			t.Errorf("no model: %v", err)
		}
		return nil
	})
	if err := db.Update(func(tx *Tx) error { return tx.DeleteModel(3) }); !errors.Is(err, ErrNotFound) {
		t.Errorf("delete no model: %v", err)
	}
	update(t, db, func(tx *Tx) error { return tx.models().Put(key(5), []byte(`{"v":99,"r":{}}`)) })
	view(t, db, func(tx *Tx) error {
		if _, err := tx.Model(5); !errors.Is(err, ErrNewer) {
			t.Errorf("a record of the future: %v", err)
		}
		return nil
	})
	update(t, db, func(tx *Tx) error { return tx.models().Put(key(5), []byte(`nonsense`)) })
	if err := db.View(func(tx *Tx) error { _, err := tx.Model(5); return err }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a record that is not JSON: %v", err)
	}
	db.Close()
	if err := db.View(func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed database: %v", err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := Open(filepath.Join(dir, "ingot.db", "x", "ingot.db"), Options{}); err == nil {
		t.Error("a database below a file was opened")
	}
}
