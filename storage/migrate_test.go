package storage

import (
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// raw makes a bbolt file by hand.
func raw(t *testing.T, fill func(*bbolt.Tx) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ingot.db")
	b, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(fill); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMigration1MakesTheTree(t *testing.T) {
	db := open(t, raw(t, func(*bbolt.Tx) error { return nil }))
	view(t, db, func(tx *Tx) error {
		for name, b := range map[string]*bbolt.Bucket{
			"models": tx.models(), "conversations": tx.conversations(), "messages": tx.bolt.Bucket(bucketMessages),
			"updated": tx.updated(), "trash": tx.trash(), "writing": tx.writing(), "settings": tx.settings(),
		} {
			if b == nil {
				t.Errorf("no bucket %s", name)
			}
		}
		if n, err := schema(tx.bolt); n != 1 || err != nil {
			t.Errorf("schema %d %v", n, err)
		}
		return nil
	})
}

func TestMigrationsRunOnceInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ingot.db")
	open(t, path).Close()
	b, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	db := &DB{bolt: b, path: path}

	var ran string
	step := func(name string, err error) migration {
		return migration{name, func(tx *bbolt.Tx) error {
			ran += name
			return errors.Join(err, tx.Bucket(bucketMeta).Put([]byte(name), []byte("x")))
		}}
	}
	bad := errors.New("bad")
	list := append(migrations[:1:1], step("b", nil), step("c", bad))
	if err := db.migrate(list); !errors.Is(err, bad) || ran != "bc" {
		t.Fatalf("ran %q: %v", ran, err)
	}
	view(t, db, func(tx *Tx) error {
		if n, _ := schema(tx.bolt); n != 1 || tx.bolt.Bucket(bucketMeta).Get([]byte("b")) != nil {
			t.Errorf("a failed migration left something, schema %d", n)
		}
		return nil
	})
	ran, list[2] = "", step("c", nil)
	for range 2 {
		if err := db.migrate(list); err != nil {
			t.Fatal(err)
		}
	}
	if ran != "bc" {
		t.Errorf("ran %q, want bc once", ran)
	}
}

func TestOtherSchemas(t *testing.T) {
	schemaIs := func(s string) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			meta, err := tx.CreateBucket(bucketMeta)
			if err != nil {
				return err
			}
			return meta.Put(keySchema, []byte(s))
		}
	}
	foreign := func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("key")); return err }
	for _, c := range []struct {
		name string
		fill func(*bbolt.Tx) error
		want error
	}{{"newer", schemaIs("1000"), ErrNewer}, {"nonsense", schemaIs("x"), ErrCorrupt}, {"foreign", foreign, ErrForeign}} {
		_, err := Open(raw(t, c.fill), Options{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		t.Log(err)
	}
}
