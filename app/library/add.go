package library

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ingot/storage"
)

// Failure is a file that was not added, and why. As an error it names the file once: those of reading a model do so too.
type Failure struct {
	Path string
	Err  error
}

func (f Failure) Error() string {
	return "add " + f.Path + ": " + strings.TrimPrefix(f.Err.Error(), f.Path+": ")
}

func (f Failure) Unwrap() error { return f.Err }

// Added is the outcome of Add.
type Added struct {
	Entries []Entry   // in the library now, new or read again
	New     int       // of Entries
	Failed  []Failure // the others
}

// Add puts a file, or every model in a folder and the folders below it, into the library. A part of a split file
// stands for the whole. In a folder one bad file is reported and the rest is added; a single bad file is an error.
func (l *Library) Add(ctx context.Context, path string) (Added, error) {
	abs, err := absolute(path)
	if err != nil {
		return Added{}, err
	}
	if !utf8.ValidString(abs) {
		return Added{}, fmt.Errorf("add %q: %w", path, ErrName)
	}
	st, err := os.Stat(abs)
	if err != nil {
		return Added{}, fmt.Errorf("add %s: %w", path, cause(err))
	}
	if !st.IsDir() {
		m, err := l.read(partsOf(abs), SourceAdded)
		if err != nil {
			return Added{}, Failure{abs, err}
		}
		return l.put([]storage.Model{m}, nil)
	}

	var all [][]string
	var failed []Failure
	err = walkModels(ctx, abs, 0,
		func(parts []string, _ int64) {
			if !utf8.ValidString(parts[0]) {
				failed = append(failed, Failure{strings.ToValidUTF8(parts[0], "\uFFFD"), ErrName})
				return
			}
			all = append(all, parts)
		},
		func(p string, err error) { failed = append(failed, Failure{p, cause(err)}) })
	if err != nil {
		return Added{}, err
	}
	if len(all) == 0 && len(failed) == 0 {
		return Added{}, fmt.Errorf("add %s: %w", path, ErrNoModels)
	}
	var models []storage.Model
	for _, parts := range all {
		if err := ctx.Err(); err != nil {
			return Added{}, err
		}
		m, err := l.read(parts, SourceFolder)
		if err != nil {
			failed = append(failed, Failure{parts[0], err})
			continue
		}
		models = append(models, m)
	}
	return l.put(models, failed)
}

// read makes an entry of a model's files.
func (l *Library) read(parts []string, source string) (storage.Model, error) {
	if _, err := sizeOf(parts); err != nil {
		return storage.Model{}, cause(err)
	}
	info, err := l.o.Inspect(parts[0])
	if err != nil {
		return storage.Model{}, err
	}
	m := storage.Model{Name: stem(parts[0]), Paths: parts, Source: source, Info: info, Added: time.Now(), Modified: modified(parts[0])}
	if len(info.Parts) > 0 {
		m.Paths = info.Parts
	}
	return m, nil
}

func modified(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// put saves models that were read. One whose file is in the library already takes that one's place.
func (l *Library) put(models []storage.Model, failed []Failure) (Added, error) {
	out := Added{Failed: failed}
	known := map[string]Found{}
	for _, f := range l.Discover() {
		known[real(f.Paths[0])] = f
	}
	err := l.db.Update(func(tx *storage.Tx) error {
		old, err := tx.Models()
		if err != nil {
			return err
		}
		at := map[string]storage.Model{}
		for _, m := range old {
			at[real(m.Paths[0])] = m
		}
		for _, m := range models {
			place := real(m.Paths[0])
			if f, ok := known[place]; ok {
				m.Name, m.Ref, m.Source = f.Name, f.Ref, f.Source
			}
			if o, ok := at[place]; ok {
				m.ID, m.Added = o.ID, o.Added
			}
			fresh := m.ID == 0
			if err := tx.PutModel(&m); err != nil {
				return err
			}
			if i := slices.IndexFunc(out.Entries, func(e Entry) bool { return e.ID == m.ID }); i >= 0 {
				continue // two links to one file
			}
			if fresh {
				out.New++
			}
			at[place] = m
			out.Entries = append(out.Entries, Entry{Model: m})
		}
		return nil
	})
	if err != nil {
		return Added{}, fmt.Errorf("save the library: %w", err)
	}
	if len(out.Entries) > 0 {
		l.Send(Change{})
	}
	return out, nil
}
