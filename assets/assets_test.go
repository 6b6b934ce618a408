package assets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSampleSum(t *testing.T) {
	sum := sha256.Sum256([]byte(sample))
	if got := hex.EncodeToString(sum[:]); got != sampleSum {
		t.Fatalf("sample-Q8_0.gguf has SHA-256 %s, assets.go says %s", got, sampleSum)
	}
	if !strings.HasPrefix(sample, "GGUF") {
		t.Error("not a GGUF file")
	}
}

func TestSampleUnpacks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "ingot")
	path, err := Sample(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "sample-"+sampleSum[:12], "ingot-sample-Q8_0.gguf")
	if path != want {
		t.Errorf("path %s, expected %s", path, want)
	}
	unpacked(t, path)

	// A second call leaves the file alone.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if again, err := Sample(dir); err != nil || again != path {
		t.Fatalf("second call: %q, %v", again, err)
	}
	if st, err := os.Stat(path); err != nil || time.Since(st.ModTime()) < time.Minute {
		t.Errorf("the second call wrote the file again (%v)", err)
	}

	// A file that was cut is written anew.
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Sample(dir); err != nil {
		t.Fatal(err)
	}
	unpacked(t, path)
}

func TestSampleAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := Sample(dir)
			if err != nil {
				t.Error(err)
				return
			}
			unpacked(t, path)
		})
	}
	wg.Wait()
	if all, err := filepath.Glob(filepath.Join(dir, "*", "*")); err != nil || len(all) != 1 {
		t.Errorf("%v, %v; expected one file", all, err)
	}
}

// unpacked checks the file's content.
func unpacked(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if string(b) != sample {
		t.Errorf("%s differs from the sample model", path)
	}
}

func TestSampleNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Sample(file); err == nil || !strings.Contains(err.Error(), "unpack the sample model: ") {
		t.Errorf("a file in the folder's place: %v", err)
	}
}

func TestSampleDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := tinyDisk(dir, 1<<20); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	defer unmount(dir)
	_, err := Sample(dir)
	if !errors.Is(err, ErrDiskFull) {
		t.Fatalf("a disk of 1 MiB: %v", err)
	}
	if want := "6.0 MB are needed in " + dir; !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestIcon(t *testing.T) {
	c, err := png.DecodeConfig(bytes.NewReader(Icon))
	if err != nil || c.Width != 512 || c.Height != 512 {
		t.Errorf("%d x %d, %v; expected 512 x 512", c.Width, c.Height, err)
	}
}
