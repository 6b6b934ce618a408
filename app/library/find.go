package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ingot/storage"
)

// repoPattern is user/repo, alone or with :QUANT or :file.gguf.
var repoPattern = regexp.MustCompile(`^(?:hf\.co/|huggingface\.co/)?([\w.-]+/[\w.-]+)(?::(.+))?$`)

// Find returns the model that a user means by ref: a path, "sample", a name in the library (any case; the
// beginning or the end is enough where only one has it), or a name in a local store: user/repo:QUANT,
// user/repo:file.gguf, name:tag. It returns ErrNotFound, ErrAmbiguous, or ErrMissing where the file is gone.
func (l *Library) Find(ref string) (Entry, error) {
	e, err := l.locate(ref)
	if err != nil || e.ID != 0 || e.IsSample() {
		return e, err
	}
	m, err := l.read(e.Paths, e.Source)
	if err != nil {
		return Entry{}, fmt.Errorf("%s: %w", ref, err)
	}
	if e.Name != "" {
		m.Name, m.Ref = e.Name, e.Ref
	}
	m.Added = e.Added
	return Entry{Model: m}, nil
}

// Resolve returns the path of the model that ref means, as Find does, without opening the file.
func (l *Library) Resolve(ref string) (string, error) {
	e, err := l.locate(ref)
	return e.Path(), err
}

// locate is Find without reading the file.
func (l *Library) locate(ref string) (Entry, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return Entry{}, fmt.Errorf("%w: no name was given", ErrNotFound)
	}
	if strings.EqualFold(ref, SourceSample) {
		return l.sampleEntry()
	}
	saved, err := l.saved()
	if err != nil {
		return Entry{}, err
	}
	if e, ok, err := l.atPath(ref, saved); ok || err != nil {
		return e, err
	}
	if e, ok, err := pick(ref, saved); ok {
		if err == nil {
			err = e.missing()
		}
		return e, err
	}
	found := l.Discover()
	if e, ok, err := inRepo(ref, found); ok {
		return e, err
	}
	stored := entriesOf(found)
	if e, ok, err := pick(ref, stored); ok {
		return e, err
	}
	return Entry{}, l.notFound(ref, saved, stored)
}

// missing is ErrMissing where a file is gone.
func (e Entry) missing() error {
	switch {
	case e.Missing == "":
		return nil
	case len(e.Paths) == 1:
		return fmt.Errorf("%s: %w: %s", e.Name, ErrMissing, e.Path())
	}
	return fmt.Errorf("%s: %w: %s", e.Name, ErrMissing, e.Missing)
}

func (f Found) entry() Entry {
	return Entry{Model: storage.Model{Name: f.Name, Ref: f.Ref, Paths: f.Paths, Source: f.Source}}
}

// atPath takes ref as a path where it is one: of a file, of a file in the library that is gone, or of a folder
// with one model.
func (l *Library) atPath(ref string, saved []Entry) (_ Entry, ok bool, _ error) {
	abs, err := absolute(ref)
	if err != nil {
		return Entry{}, false, nil
	}
	st, statErr := os.Stat(abs)
	same := func(e Entry) bool {
		return slices.Contains(e.Paths, abs) || statErr == nil && real(e.Path()) == real(partsOf(abs)[0])
	}
	if i := slices.IndexFunc(saved, same); i >= 0 {
		return saved[i], true, saved[i].missing()
	}
	switch {
	case statErr == nil && !st.IsDir():
		return Entry{Model: storage.Model{Paths: partsOf(abs), Source: SourceAdded}}, true, nil
	case statErr == nil && looksLikePath(ref):
		var in []Entry
		err := walkModels(context.Background(), abs, 1, func(parts []string, _ int64) {
			in = append(in, Entry{Model: storage.Model{Name: filepath.Base(parts[0]), Paths: parts, Source: SourceAdded}})
		}, func(string, error) {})
		if err != nil {
			return Entry{}, true, err
		}
		switch len(in) {
		case 0:
			return Entry{}, true, fmt.Errorf("%s: %w", ref, ErrNoModels)
		case 1:
			in[0].Name = ""
			return in[0], true, nil
		}
		return Entry{}, true, ambiguous(ref, in)
	case statErr != nil && looksLikePath(ref):
		if errors.Is(statErr, fs.ErrNotExist) {
			return Entry{}, true, fmt.Errorf("%w: there is no file %s", ErrNotFound, ref)
		}
		return Entry{}, true, fmt.Errorf("%s: %w", ref, cause(statErr))
	}
	return Entry{}, false, nil
}

// looksLikePath tells paths from names such as user/repo, also where nothing is there.
func looksLikePath(ref string) bool {
	for _, p := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(ref, p) {
			return true
		}
	}
	return ref == "." || ref == ".." || ref == "~" ||
		isGGUF(ref) && strings.Contains(ref, "/") && !strings.Contains(ref, ":")
}

// pick finds the entry that a name means: the whole name, a store's name or the title first, then the beginning,
// then the end. ok is false where none is meant; err is ErrAmbiguous.
func pick(ref string, entries []Entry) (_ Entry, ok bool, err error) {
	low := strings.ToLower(ref)
	eq := func(s string) bool { return s != "" && strings.EqualFold(s, ref) }
	for _, matches := range []func(Entry) bool{
		func(e Entry) bool { return eq(e.Name) || eq(e.Ref) || eq(filepath.Base(e.Path())) },
		func(e Entry) bool { return eq(strings.TrimSuffix(e.Name, ":latest")) },
		func(e Entry) bool { return eq(e.Info.Title) },
		func(e Entry) bool {
			return strings.HasPrefix(strings.ToLower(e.Name), low) || strings.HasPrefix(strings.ToLower(e.Ref), low)
		},
		func(e Entry) bool {
			return strings.HasSuffix(strings.ToLower(e.Name), low) || strings.HasSuffix(strings.ToLower(e.Ref), low)
		},
	} {
		var hits []Entry
		for _, e := range entries {
			twin := func(h Entry) bool { return h.Ref != "" && h.Ref == e.Ref } // one file, two stores
			if matches(e) && !slices.ContainsFunc(hits, twin) {
				hits = append(hits, e)
			}
		}
		switch len(hits) {
		case 0:
		case 1:
			return hits[0], true, nil
		default:
			return Entry{}, true, ambiguous(ref, hits)
		}
	}
	return Entry{}, false, nil
}

// inRepo finds user/repo:QUANT and user/repo:file.gguf. A repo alone is enough where it holds one model. ok is
// false where no store has the repo.
func inRepo(ref string, found []Found) (_ Entry, ok bool, _ error) {
	m := repoPattern.FindStringSubmatch(ref)
	if m == nil {
		return Entry{}, false, nil
	}
	repo, want := m[1], m[2]
	flat := strings.ReplaceAll(repo, "/", "_") + "_" // llama.cpp's cache
	var all []Found
	for _, f := range found {
		switch {
		case strings.EqualFold(f.Repo, repo):
			all = append(all, f)
		case f.Source == SourceLlama && len(f.File) > len(flat) && strings.EqualFold(f.File[:len(flat)], flat):
			f.File = f.File[len(flat):]
			all = append(all, f)
		}
	}
	var hits []Found
	for _, matches := range []func(Found) bool{
		func(f Found) bool { return want == "" },
		func(f Found) bool {
			return strings.EqualFold(f.File, want) || strings.EqualFold(filepath.Base(f.File), want)
		},
		func(f Found) bool { return quantOf(f.File) == strings.ToUpper(want) },
		func(f Found) bool { return strings.HasSuffix(strings.ToLower(stem(f.File)), strings.ToLower(want)) },
	} {
		for _, f := range all {
			if matches(f) {
				hits = append(hits, f)
			}
		}
		if len(hits) > 0 {
			break
		}
	}
	switch {
	case len(all) == 0:
		return Entry{}, false, nil
	case len(hits) == 0:
		return Entry{}, true, fmt.Errorf("%w: %s has no %s here, only %s", ErrNotFound, repo, want, list(entriesOf(all)))
	}
	// The same file in two stores is no question: the first store is as good.
	first := hits[0]
	for _, f := range hits[1:] {
		same := strings.EqualFold(filepath.Base(f.File), filepath.Base(first.File)) || quantOf(f.File) == quantOf(first.File)
		if f.Source == first.Source || !same {
			return Entry{}, true, ambiguous(ref, entriesOf(hits))
		}
	}
	return first.entry(), true, nil
}

func entriesOf(found []Found) []Entry {
	es := make([]Entry, len(found))
	for i, f := range found {
		es[i] = f.entry()
	}
	return es
}

func ambiguous(ref string, hits []Entry) error {
	return fmt.Errorf("%w: %s could be %s", ErrAmbiguous, ref, list(hits))
}

// list names entries so that each name finds its own; long lists are cut.
func list(es []Entry) string {
	const most = 12
	count := map[string]int{}
	for _, e := range es {
		count[name(e)]++
	}
	var names []string
	for _, e := range es {
		n := name(e)
		if count[n] > 1 && n != e.Ref {
			n = e.Path()
		}
		if !slices.Contains(names, n) { // one file in two stores
			names = append(names, n)
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

func name(e Entry) string {
	if e.ID == 0 && e.Ref != "" {
		return e.Ref
	}
	return e.Name
}

func (l *Library) notFound(ref string, saved, stored []Entry) error {
	var have []Entry
	if l.o.Sample != nil {
		have = append(have, Entry{Model: storage.Model{Name: SourceSample}})
	}
	have = append(append(have, saved...), stored...)
	if len(have) == 0 {
		return fmt.Errorf("%w: %s. There are no models yet", ErrNotFound, ref)
	}
	return fmt.Errorf("%w: %s. Known here: %s", ErrNotFound, ref, list(have))
}

// AddRef puts a model of a store, or any other that Find finds, into the library.
func (l *Library) AddRef(ctx context.Context, ref string) (Entry, error) {
	e, err := l.locate(ref)
	switch {
	case err != nil:
		return Entry{}, err
	case e.IsSample():
		return Entry{}, ErrSample
	}
	a, err := l.Add(ctx, e.Path())
	if err != nil {
		return Entry{}, err
	}
	return a.Entries[0], nil
}
