// Package assets holds what the binary carries with it: the sample model and the application's icon.
package assets

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// sample is assets/sample/sample-Q8_0.gguf; how it was trained stands in the README beside it.
//
//go:embed sample/sample-Q8_0.gguf
var sample string // a string: read-only, so it stays in the binary's mapped pages

// sampleSum is the SHA-256 of sample. It is written down so that no start of the program has to compute it.
const sampleSum = "f7f5eb78b7527ecf9223e0ddc615371cf38f22ef8e104d39d746aa817d5a3204"

// Icon is the application's icon, a PNG of 512 x 512 pixels, drawn from icon/icon.svg.
//
//go:embed icon/icon.png
var Icon []byte

var (
	// ErrDiskFull is returned when there is no room to unpack the sample model. Nothing half written stays.
	ErrDiskFull = errors.New("the disk is full")
	// ErrDamaged is returned when what was unpacked does not read back as it was written.
	ErrDamaged = errors.New("the file does not read back as it was written")
)

// Sample returns the path of the sample model below dir, unpacking it when it is not there; dir is made when it
// does not exist. The path holds a digest of the content, so another version of the model gets another path. A file
// there that differs is written anew. Several processes may call it at once.
func Sample(dir string) (path string, err error) {
	dir = filepath.Join(dir, "sample-"+sampleSum[:12])
	path = filepath.Join(dir, "ingot-sample-Q8_0.gguf")
	if there, err := os.ReadFile(path); err == nil && string(there) == sample {
		return path, nil
	}
	if err := unpack(dir, path); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
			err = fmt.Errorf("%w, %.1f MB are needed in %s", ErrDiskFull, float64(len(sample))/1e6, dir)
		}
		return "", fmt.Errorf("unpack the sample model: %w", err)
	}
	return path, nil
}

// unpack writes beside the final name, reads back, and renames: a file under the final name is always whole.
func unpack(dir, path string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "unpacking-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := io.WriteString(f, sample); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != sampleSum {
		return fmt.Errorf("%s: %w", f.Name(), ErrDamaged)
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
