// Package library is the list of models on this machine: what the user added, and what other programs' stores
// hold, which is read where it lies. The library points at files; it never copies, moves or deletes one.
package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ingot/app/feed"
	"ingot/storage"
)

var (
	// ErrNotFound is returned when nothing answers to a name. The message lists what does.
	ErrNotFound = errors.New("no such model")
	// ErrAmbiguous is returned when several models answer to a name. The message lists them.
	ErrAmbiguous = errors.New("several models have that name")
	// ErrMissing is returned when a model is in the library but its file is gone.
	ErrMissing = errors.New("the model's file is gone")
	// ErrNoModels is returned when a folder that is added holds no model.
	ErrNoModels = errors.New("no GGUF model in this folder")
	// ErrName is returned when a file's name is not valid UTF-8: the library could not find it again.
	ErrName = errors.New("the file's name is not valid UTF-8; rename it first")
	// ErrSample is returned when the sample model is to be removed; it is part of the program.
	ErrSample = errors.New("the sample model is part of Ingot")
)

// Where an entry comes from.
const (
	SourceAdded    = "added"    // a file the user named
	SourceFolder   = "folder"   // found in a folder the user named
	SourceHF       = "hf"       // the Hugging Face cache
	SourceLMStudio = "lmstudio" // LM Studio's models
	SourceOllama   = "ollama"   // Ollama's blobs
	SourceLlama    = "llama.cpp"
	SourceSample   = "sample"
)

// ModelInfo is what a model's files say about it.
type ModelInfo = storage.ModelInfo

// Inspector reads what a model's first file says. An error means that it is no readable model.
type Inspector func(path string) (ModelInfo, error)

// Options says what the library works with. Inspect is required.
type Options struct {
	Inspect Inspector
	// Sample returns the path of the sample model, and unpacks it where it is not there yet; nil: there is none.
	Sample func() (string, error)
	// Stores are other programs' folders; nil: those of this user.
	Stores *Stores
}

// Entry is a model that can be named. One that is not in the library, such as a store's, has ID 0.
type Entry struct {
	storage.Model
	// Missing says in a sentence that a file is gone; "" when all are there.
	Missing string
}

// Path returns the first part, which is what an engine opens.
func (e Entry) Path() string {
	if len(e.Paths) == 0 {
		return ""
	}
	return e.Paths[0]
}

// IsSample tells whether the entry is the sample model.
func (e Entry) IsSample() bool { return e.Source == SourceSample }

// Key is what a conversation keeps to find the model again: "sample" or the path. Find takes it.
func (e Entry) Key() string {
	if e.IsSample() {
		return SourceSample
	}
	return e.Path()
}

// Change says that the library changed. ID is 0 where several entries did.
type Change struct{ ID storage.ID }

// Library is the models of one database. It is safe for concurrent use.
type Library struct {
	feed.Of[Change]
	db     *storage.DB
	o      Options
	stores Stores

	mu     sync.Mutex
	sample *Entry // once it was unpacked and read
}

// Open starts on a database.
func Open(db *storage.DB, o Options) *Library {
	l := &Library{db: db, o: o}
	if o.Stores != nil {
		l.stores = *o.Stores
	} else {
		l.stores = LocalStores()
	}
	return l
}

// List returns the sample model, then the library by name.
func (l *Library) List() ([]Entry, error) {
	saved, err := l.saved()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(saved, func(a, b Entry) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	if l.o.Sample == nil {
		return saved, nil
	}
	sample, err := l.sampleEntry()
	if err != nil {
		sample = Entry{Model: storage.Model{Name: SourceSample, Source: SourceSample}, Missing: sentence(err)}
	}
	return append([]Entry{sample}, saved...), nil
}

// saved returns the library as it was added.
func (l *Library) saved() ([]Entry, error) {
	var models []storage.Model
	err := l.db.View(func(tx *storage.Tx) (err error) {
		models, err = tx.Models()
		return err
	})
	entries := make([]Entry, len(models))
	for i, m := range models {
		entries[i] = Entry{Model: m}
		if _, err := sizeOf(m.Paths); err != nil {
			entries[i].Missing = gone(m.Paths, err)
		}
	}
	return entries, err
}

// gone says which file of a model is missing.
func gone(paths []string, err error) string {
	if len(paths) == 1 && errors.Is(err, os.ErrNotExist) {
		return "The file is gone: " + paths[0]
	}
	return sentence(err)
}

// sentence makes an error's text look like one.
func sentence(err error) string {
	s := err.Error()
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (l *Library) sampleEntry() (Entry, error) {
	if l.o.Sample == nil {
		return Entry{}, fmt.Errorf("%w: this build has no sample model", ErrNotFound)
	}
	path, err := l.o.Sample()
	if err != nil {
		return Entry{}, fmt.Errorf("unpack the sample model: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sample == nil || l.sample.Path() != path {
		info, err := l.o.Inspect(path)
		if err != nil {
			return Entry{}, fmt.Errorf("the sample model: %w", err)
		}
		l.sample = &Entry{Model: storage.Model{Name: SourceSample, Source: SourceSample, Paths: []string{path}, Info: info}}
	}
	return *l.sample, nil
}

// Remove takes an entry out of the library. Its file stays. undo puts the entry back.
func (l *Library) Remove(id storage.ID) (undo func() error, err error) {
	if id == 0 {
		return nil, ErrSample
	}
	var m storage.Model
	err = l.db.Update(func(tx *storage.Tx) (err error) {
		if m, err = tx.Model(id); err != nil {
			return err
		}
		return tx.DeleteModel(id)
	})
	if err != nil {
		return nil, fmt.Errorf("remove the model: %w", err)
	}
	l.Send(Change{ID: id})
	return func() error {
		if err := l.db.Update(func(tx *storage.Tx) error { return tx.PutModel(&m) }); err != nil {
			return fmt.Errorf("bring the model back: %w", err)
		}
		l.Send(Change{ID: id})
		return nil
	}, nil
}

// Refresh reads the files again that changed since they were read. It returns the first error of the storage;
// a file that is not readable any more keeps what it said and gets a Problem.
func (l *Library) Refresh(ctx context.Context) error {
	saved, err := l.saved()
	if err != nil {
		return err
	}
	for _, e := range saved {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Missing != "" || modified(e.Path()).Equal(e.Modified) && (e.Info.Vocab > 0 || e.Info.Problem != "") {
			continue
		}
		m := e.Model
		fresh, err := l.read(e.Paths, e.Source)
		if err != nil {
			m.Info.Problem = sentence(err)
		} else {
			m.Info, m.Paths = fresh.Info, fresh.Paths
		}
		m.Modified = modified(e.Path())
		err = l.db.Update(func(tx *storage.Tx) error {
			if _, err := tx.Model(m.ID); errors.Is(err, storage.ErrNotFound) {
				return nil // removed meanwhile
			}
			return tx.PutModel(&m)
		})
		if err != nil {
			return fmt.Errorf("save the library: %w", err)
		}
		l.Send(Change{ID: m.ID})
	}
	return nil
}

// absolute takes ~ too, which a shell would have replaced.
func absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		path = home + rest
	}
	return filepath.Abs(path)
}

// real is what tells files apart: the path without links, where it exists.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

// cause drops "stat /path:" from an error whose message names the path already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
