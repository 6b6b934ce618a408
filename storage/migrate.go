package storage

import (
	"fmt"
	"strconv"

	"go.etcd.io/bbolt"
)

// migration changes the database from one schema to the next. It sees the raw buckets, not the records of today,
// which may have moved on.
type migration struct {
	name string
	run  func(*bbolt.Tx) error
}

// migrations are run in order; the schema's number is how many have run. One that was released is never changed.
var migrations = []migration{
	{"make the buckets", makeBuckets},
}

// migrate runs what is due, all in one transaction: it happens whole or not at all.
func (db *DB) migrate(list []migration) error {
	done := 0
	err := db.View(func(tx *Tx) error {
		var err error
		done, err = schema(tx.bolt)
		return err
	})
	if err != nil {
		return err
	}
	if done > len(list) {
		return fmt.Errorf("open %s: %w: schema %d, this Ingot knows %d", db.path, ErrNewer, done, len(list))
	}
	if done == len(list) {
		return nil
	}
	return db.Update(func(tx *Tx) error {
		for i, m := range list[done:] {
			if err := m.run(tx.bolt); err != nil {
				return fmt.Errorf("migration %d, %s: %w", done+i+1, m.name, err)
			}
		}
		meta, err := tx.bolt.CreateBucketIfNotExists(bucketMeta)
		if err != nil {
			return err
		}
		return meta.Put(keySchema, []byte(strconv.Itoa(len(list))))
	})
}

// schema returns how many migrations have run; 0 for a new file.
func schema(tx *bbolt.Tx) (int, error) {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return 0, nil
	}
	n, err := strconv.Atoi(string(meta.Get(keySchema)))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%w: schema %q", ErrCorrupt, meta.Get(keySchema))
	}
	return n, nil
}

// makeBuckets is schema 1: every bucket of the tree in the package comment.
func makeBuckets(tx *bbolt.Tx) error {
	for _, name := range []string{"meta", "models", "conversations", "messages", "index", "settings"} {
		if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"updated", "trash", "writing"} {
		if _, err := tx.Bucket([]byte("index")).CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	return nil
}
