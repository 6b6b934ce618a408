// Package storage keeps the model library, the conversations and the settings in one bbolt file.
//
// Buckets end in a slash; ids and times are eight bytes, big endian, so that keys sort by number. Values are
// JSON in an envelope {"v": version of the record, "r": the record}.
//
//	meta/
//	    schema                      -> number of migrations that ran, decimal
//	models/
//	    <model>                     -> Model
//	conversations/
//	    <conversation>              -> Conversation
//	messages/
//	    <conversation>/
//	        <message>               -> Message; a tree through Message.Parent
//	index/
//	    updated/
//	        <time><conversation>    -> nothing; every conversation that is not in the trash
//	    trash/
//	        <time><conversation>    -> nothing; deleted conversations by the time of deletion
//	    writing/
//	        <conversation><message> -> nothing; answers that are being written
//	settings/
//	    <name>                      -> JSON of its owner's making
//
// A DB is safe for concurrent use. One process holds it at a time: the second gets ErrInUse. A transaction either
// happens whole or not at all, on a full disk too.
package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ID names a model, a conversation or a message; 0 is none. Ids are never used twice.
type ID uint64

// Options says how a database is opened. The zero value works.
type Options struct {
	// Timeout is how long to wait for another process to let go; 0: 300 ms.
	Timeout time.Duration
}

// DB is an open database.
type DB struct {
	bolt *bbolt.DB
	path string
	pid  string // the side file that says which process holds the database
}

// Open opens the database at path, and makes it and its folder where they are not there yet. It takes the lock,
// checks the file and runs the migrations that are due. A file that cannot be read is left as it is.
func Open(path string, o Options) (*DB, error) {
	if o.Timeout == 0 {
		o.Timeout = 300 * time.Millisecond
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, border("make the folder of", path, err)
	}
	before, statErr := os.Stat(path)
	fresh := errors.Is(statErr, os.ErrNotExist) || statErr == nil && before.Size() == 0
	if statErr == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: not a file", path)
	}

	db := &DB{path: path, pid: path + ".pid"}
	err := db.open(o.Timeout)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, inUse(db.pid)
	case err != nil && fresh && errors.Is(err, ErrDiskFull):
		// Half a header would look like a damaged file the next time. Nothing was in it.
		if now, e := os.Stat(path); e == nil && now.Size() < 1<<16 {
			os.Remove(path)
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	writeHolder(db.pid)
	if err := db.check(); err != nil {
		db.Close()
		return nil, err
	}
	if err := db.migrate(migrations); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// open runs bbolt's Open, which panics or faults on some damaged files.
func (db *DB) open(timeout time.Duration) (err error) {
	var file *os.File
	defer func() {
		if err != nil && file != nil {
			file.Close() // bbolt leaves it open, and locked, where it panics
		}
	}()
	defer recovered(db.path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	db.bolt, err = bbolt.Open(db.path, 0o600, &bbolt.Options{
		Timeout: timeout,
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			f, err = os.OpenFile(name, flag, mode)
			file = f
			return f, err
		},
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return err
	}
	return border("open", db.path, err)
}

// check finds a file that was cut short and one that is another program's.
func (db *DB) check() error {
	return db.View(func(tx *Tx) error {
		st, err := os.Stat(db.path)
		if err != nil {
			return err
		}
		if st.Size() < tx.bolt.Size() {
			return fmt.Errorf("%w (it has %d of %d bytes)", ErrCorrupt, st.Size(), tx.bolt.Size())
		}
		if k, _ := tx.bolt.Cursor().First(); k != nil && tx.bolt.Bucket(bucketMeta) == nil {
			return ErrForeign
		}
		return nil
	})
}

// SetAside moves a database that was found to be damaged to a free name beside it, and returns that name. It refuses
// while another process holds the database, and where the file cannot be read.
func SetAside(path string) (aside string, err error) {
	db, err := Open(path, Options{})
	switch {
	case err == nil:
		db.Close()
	case !errors.Is(err, ErrCorrupt):
		return "", err
	}
	ext := filepath.Ext(path)
	for n := 1; ; n++ {
		aside = fmt.Sprintf("%s.damaged-%d%s", strings.TrimSuffix(path, ext), n, ext)
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			return aside, border("move", path, os.Rename(path, aside))
		} else if err != nil {
			return "", border("move", path, err)
		}
	}
}

// Path returns where the database lies.
func (db *DB) Path() string { return db.path }

// Close waits for running transactions and lets go of the file.
func (db *DB) Close() error {
	removeHolder(db.pid)
	return db.bolt.Close()
}

// View runs fn in a transaction that sees one state of the database. fn must not start another transaction.
func (db *DB) View(fn func(*Tx) error) (err error) {
	defer recovered(db.path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return border("read", db.path, db.bolt.View(func(b *bbolt.Tx) error { return fn(&Tx{bolt: b}) }))
}

// Update runs fn in the one transaction that may write. When it returns nil everything fn did is on disk;
// otherwise nothing of it happened. fn must not start another transaction.
func (db *DB) Update(fn func(*Tx) error) (err error) {
	defer recovered(db.path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return border("write", db.path, db.bolt.Update(func(b *bbolt.Tx) error { return fn(&Tx{bolt: b}) }))
}

// Tx is a transaction; it ends with the function that it was given to.
type Tx struct {
	bolt *bbolt.Tx
}

// border turns what bbolt and the system say into this package's errors.
func border(verb, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case diskFull(err):
		return fmt.Errorf("%s %s: %w (%w)", verb, path, ErrDiskFull, err)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch), errors.Is(err, bolterrors.ErrInvalidMapping),
		strings.HasPrefix(err.Error(), "file size too small"): // bbolt has no name for that one
		return fmt.Errorf("%s %s: %w (%w)", verb, path, ErrCorrupt, err)
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return fmt.Errorf("%s %s: %w", verb, path, ErrClosed)
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrForeign):
		return fmt.Errorf("%s %s: %w", verb, path, err)
	}
	var fail *os.PathError
	if errors.As(err, &fail) {
		return fmt.Errorf("%s the database: %w", verb, err)
	}
	return err
}

// diskFull also looks at the text: bbolt drops the cause of a file that could not grow.
func diskFull(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, e) || strings.Contains(err.Error(), e.Error()) {
			return true
		}
	}
	return false
}

// recovered turns a panic of bbolt, or a fault on its mapped pages, into ErrCorrupt. Other panics go on.
func recovered(path string, err *error) {
	v := recover()
	if v == nil {
		return
	}
	if _, fault := v.(interface{ Addr() uintptr }); !fault && !panickedIn("go.etcd.io/bbolt") {
		panic(v)
	}
	*err = fmt.Errorf("read %s: %w", path, ErrCorrupt) // what bbolt stumbled over tells nobody anything
}

// panickedIn tells whether the function that panicked, not its callers, belongs to the module pkg.
// It is called from the deferred function, while the frames of the panic are still there.
func panickedIn(pkg string) bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return strings.HasPrefix(f.Function, pkg)
		}
		if !more {
			return false
		}
	}
}
