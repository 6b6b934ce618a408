package storage

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// The names in the tree of the package comment. Each path is built by one function below.
var (
	bucketMeta          = []byte("meta")
	bucketModels        = []byte("models")
	bucketConversations = []byte("conversations")
	bucketMessages      = []byte("messages")
	bucketIndex         = []byte("index")
	bucketUpdated       = []byte("updated")
	bucketTrash         = []byte("trash")
	bucketWriting       = []byte("writing")
	bucketSettings      = []byte("settings")
	keySchema           = []byte("schema")
)

func (tx *Tx) models() *bbolt.Bucket        { return tx.bolt.Bucket(bucketModels) }
func (tx *Tx) conversations() *bbolt.Bucket { return tx.bolt.Bucket(bucketConversations) }
func (tx *Tx) updated() *bbolt.Bucket       { return tx.bolt.Bucket(bucketIndex).Bucket(bucketUpdated) }
func (tx *Tx) trash() *bbolt.Bucket         { return tx.bolt.Bucket(bucketIndex).Bucket(bucketTrash) }
func (tx *Tx) writing() *bbolt.Bucket       { return tx.bolt.Bucket(bucketIndex).Bucket(bucketWriting) }
func (tx *Tx) settings() *bbolt.Bucket      { return tx.bolt.Bucket(bucketSettings) }

// messages returns nil for a conversation without messages.
func (tx *Tx) messages(conversation ID) *bbolt.Bucket {
	return tx.bolt.Bucket(bucketMessages).Bucket(key(conversation))
}

func key(id ID) []byte { return binary.BigEndian.AppendUint64(nil, uint64(id)) }

func keyID(k []byte) ID { return ID(binary.BigEndian.Uint64(k)) }

// timeKey sorts by time, then by id. Times before 1970 do not occur.
func timeKey(t time.Time, id ID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(t.UnixNano())), uint64(id))
}

func pairKey(a, b ID) []byte {
	return binary.BigEndian.AppendUint64(key(a), uint64(b))
}

// splitKey takes the key of an index apart: its first and its second number.
func splitKey(k []byte) (ID, ID, error) {
	if len(k) != 16 {
		return 0, 0, fmt.Errorf("%w: an index key of %d bytes", ErrCorrupt, len(k))
	}
	return keyID(k[:8]), keyID(k[8:]), nil
}

// envelope carries a record with the version of its form. A change of a record that JSON does not absorb by
// itself (a new field is absorbed) raises the version and gets a migration.
type envelope struct {
	Version int             `json:"v"`
	Record  json.RawMessage `json:"r"`
}

const recordVersion = 1

func encode(record any) ([]byte, error) {
	r, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{recordVersion, r})
}

func decode(b []byte, record any) error {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return fmt.Errorf("%w: a record that is not JSON: %v", ErrCorrupt, err)
	}
	if e.Version > recordVersion {
		return fmt.Errorf("%w: a record of version %d, this Ingot knows %d", ErrNewer, e.Version, recordVersion)
	}
	if err := json.Unmarshal(e.Record, record); err != nil {
		return fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return nil
}

// get decodes the record at id.
func get[T any](b *bbolt.Bucket, what string, id ID) (T, error) {
	var r T
	if b == nil {
		return r, fmt.Errorf("%s %d: %w", what, id, ErrNotFound)
	}
	v := b.Get(key(id))
	if v == nil {
		return r, fmt.Errorf("%s %d: %w", what, id, ErrNotFound)
	}
	if err := decode(v, &r); err != nil {
		return r, fmt.Errorf("%s %d: %w", what, id, err)
	}
	return r, nil
}

func put(b *bbolt.Bucket, what string, id ID, record any) error {
	v, err := encode(record)
	if err == nil {
		err = b.Put(key(id), v)
	}
	if err != nil {
		return fmt.Errorf("%s %d: %w", what, id, err)
	}
	return nil
}

// all decodes every record of a bucket, in the order of ids.
func all[T any](b *bbolt.Bucket, what string) ([]T, error) {
	if b == nil {
		return nil, nil
	}
	var list []T
	err := b.ForEach(func(k, v []byte) error {
		var r T
		if err := decode(v, &r); err != nil {
			return fmt.Errorf("%s %d: %w", what, keyID(k), err)
		}
		list = append(list, r)
		return nil
	})
	return list, err
}
