package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ingot/storage"
)

// inspect reads test models: "model ARCH".
func inspect(path string) (ModelInfo, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return ModelInfo{}, err
	}
	arch, ok := strings.CutPrefix(string(b), "model ")
	if !ok {
		return ModelInfo{}, errors.New("not a GGUF file")
	}
	return ModelInfo{Architecture: arch, FileBytes: int64(len(b)), Vocab: 4096, Title: "Title of " + stem(path)}, nil
}

// write makes files below dir, each a test model unless its text says otherwise.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if text == "" {
			text = "model qwen3"
		}
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// folder is a temporary folder without links in its path, as on macOS.
func folder(t *testing.T) string {
	t.Helper()
	return real(t.TempDir())
}

func library(t *testing.T, stores Stores) *Library {
	t.Helper()
	dir := folder(t)
	db, err := storage.Open(filepath.Join(dir, "ingot.db"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	sample := filepath.Join(dir, "unpacked.gguf")
	return Open(db, Options{Inspect: inspect, Stores: &stores, Sample: func() (string, error) {
		return sample, os.WriteFile(sample, []byte("model qwen35"), 0o600)
	}})
}

func names(t *testing.T, l *Library) string {
	t.Helper()
	es, err := l.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range es {
		n := e.Name
		if e.Missing != "" {
			n += "(missing)"
		}
		out = append(out, n)
	}
	return strings.Join(out, " ")
}

func TestAddFileAndFolder(t *testing.T) {
	l, dir := library(t, Stores{}), folder(t)
	ctx := context.Background()
	write(t, dir, map[string]string{
		"b.gguf": "", "A.GGUF": "model llama", "mmproj-b-f16.gguf": "", "notes.txt": "",
		"deep/er/c-Q4_K_M.gguf": "", "deep/bad.gguf": "Dear diary", ".hidden/x.gguf": "",
		"big-00001-of-00003.gguf": "", "big-00002-of-00003.gguf": "", "big-00003-of-00003.gguf": "",
		"torn-00001-of-00002.gguf": "", "headless-00002-of-00002.gguf": "",
	})
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling.gguf")); err != nil {
		t.Fatal(err)
	}
	changes := 0
	l.Subscribe(func(Change) { changes++ })

	a, err := l.Add(ctx, dir)
	if err != nil || a.New != 4 || len(a.Entries) != 4 || changes != 1 {
		t.Fatalf("%+v %v, %d changes", a, err, changes)
	}
	if got := names(t, l); got != "sample A b big c-Q4_K_M" {
		t.Error(got)
	}
	failed := map[string]string{}
	for _, f := range a.Failed {
		failed[filepath.Base(f.Path)] = f.Err.Error()
	}
	want := map[string]string{
		"bad.gguf":                     "not a GGUF file",
		"torn-00001-of-00002.gguf":     "part 2 of 2 is missing: torn-00002-of-00002.gguf",
		"headless-00002-of-00002.gguf": "part 1 of 2 is missing: headless-00001-of-00002.gguf",
		"dangling.gguf":                "no such file or directory",
	}
	if fmt.Sprint(failed) != fmt.Sprint(want) {
		t.Errorf("failed:\n%v, want\n%v", failed, want)
	}
	big, err := l.Find("big")
	if err != nil || len(big.Paths) != 3 || big.Source != SourceFolder || big.Info.Architecture != "qwen3" || big.Added.IsZero() {
		t.Errorf("%+v %v", big, err)
	}

	// Again, and by another way: nothing twice.
	write(t, dir, map[string]string{"b.gguf": "model mamba"})
	if err := os.Symlink(dir, filepath.Join(dir, "..", "link")); err != nil {
		t.Fatal(err)
	}
	a, err = l.Add(ctx, filepath.Join(dir, "..", "link"))
	if err != nil || a.New != 0 || len(a.Entries) != 4 {
		t.Errorf("again: %+v %v", a, err)
	}
	if b, _ := l.Find("b"); b.Info.Architecture != "mamba" {
		t.Errorf("it was not read again: %+v", b)
	}
	a, err = l.Add(ctx, filepath.Join(dir, "big-00002-of-00003.gguf")) // a part stands for the whole
	if err != nil || a.New != 0 || a.Entries[0].ID != big.ID {
		t.Errorf("a part: %+v %v", a, err)
	}

	empty := folder(t)
	for path, want := range map[string]error{
		filepath.Join(dir, "none.gguf"):     os.ErrNotExist,
		filepath.Join(dir, "deep/bad.gguf"): nil,
		empty:                               ErrNoModels,
	} {
		_, err := l.Add(ctx, path)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("add %s: %v", path, err)
		}
		t.Log(err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.Add(done, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRemoveAndUndo(t *testing.T) {
	l, dir := library(t, Stores{}), folder(t)
	write(t, dir, map[string]string{"a.gguf": ""})
	a, err := l.Add(context.Background(), filepath.Join(dir, "a.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	undo, err := l.Remove(a.Entries[0].ID)
	if err != nil || names(t, l) != "sample" {
		t.Fatalf("%v %s", err, names(t, l))
	}
	if _, err := os.Stat(filepath.Join(dir, "a.gguf")); err != nil {
		t.Error("the file was removed too:", err)
	}
	if err := undo(); err != nil || names(t, l) != "sample a" {
		t.Errorf("%v %s", err, names(t, l))
	}
	if e, _ := l.Find("a"); e.ID != a.Entries[0].ID {
		t.Error("it came back as another")
	}
	if _, err := l.Remove(0); !errors.Is(err, ErrSample) {
		t.Error(err)
	}
	if _, err := l.Remove(99); !errors.Is(err, storage.ErrNotFound) {
		t.Error(err)
	}
}

func TestFilesThatAreGone(t *testing.T) {
	l, dir := library(t, Stores{}), folder(t)
	write(t, dir, map[string]string{"a.gguf": "", "s-00001-of-00002.gguf": "", "s-00002-of-00002.gguf": ""})
	if _, err := l.Add(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "a.gguf"))
	os.Remove(filepath.Join(dir, "s-00002-of-00002.gguf"))
	if got := names(t, l); got != "sample a(missing) s(missing)" {
		t.Error(got)
	}
	for ref, text := range map[string]string{
		"a": "gone: " + dir + "/a.gguf", "s": "Part 2 of 2 is missing", filepath.Join(dir, "a.gguf"): "gone: " + dir,
	} {
		e, err := l.Find(ref)
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), text) || e.ID == 0 {
			t.Errorf("%s: %v", ref, err)
		}
		t.Log(err)
	}
	if err := l.Refresh(context.Background()); err != nil {
		t.Error(err)
	}
	write(t, dir, map[string]string{"a.gguf": ""})
	if got := names(t, l); got != "sample a s(missing)" {
		t.Error("it came back:", got)
	}
}

func TestRefresh(t *testing.T) {
	l, dir := library(t, Stores{}), folder(t)
	ctx := context.Background()
	write(t, dir, map[string]string{"a.gguf": "", "b.gguf": ""})
	if _, err := l.Add(ctx, dir); err != nil {
		t.Fatal(err)
	}
	changed := 0
	l.Subscribe(func(Change) { changed++ })
	if err := l.Refresh(ctx); err != nil || changed != 0 {
		t.Errorf("nothing changed: %v %d", err, changed)
	}
	write(t, dir, map[string]string{"a.gguf": "model llama", "b.gguf": "garbage"})
	later := time.Now().Add(time.Hour)
	os.Chtimes(filepath.Join(dir, "a.gguf"), later, later)
	os.Chtimes(filepath.Join(dir, "b.gguf"), later, later)
	if err := l.Refresh(ctx); err != nil || changed != 2 {
		t.Errorf("%v %d", err, changed)
	}
	if a, _ := l.Find("a"); a.Info.Architecture != "llama" {
		t.Errorf("%+v", a)
	}
	if b, _ := l.Find("b"); b.Info.Problem != "Not a GGUF file" || b.Info.Architecture != "qwen3" {
		t.Errorf("%+v", b)
	}
}

func TestSampleThatCannotBeUnpacked(t *testing.T) {
	l := library(t, Stores{})
	l.o.Sample = func() (string, error) { return "", errors.New("the disk is full") }
	es, err := l.List()
	if err != nil || len(es) != 1 || es[0].Missing != "Unpack the sample model: the disk is full" {
		t.Errorf("%+v %v", es, err)
	}
	if _, err := l.Find("sample"); err == nil {
		t.Error("found")
	}
	l.o.Sample = nil
	if es, err := l.List(); err != nil || len(es) != 0 {
		t.Errorf("%+v %v", es, err)
	}
	if _, err := l.Find("sample"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
