package quant

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ingot/engine/gguf"
)

var (
	// ErrSameFile is returned when the output would replace the input.
	ErrSameFile = errors.New("input and output are the same file")
	// ErrExists is returned when the output would replace a file, without Options.Overwrite.
	ErrExists = errors.New("the file exists already")
	// ErrDiskFull is returned when there is no room for the output. Nothing half written stays.
	ErrDiskFull = errors.New("no room for the file")
)

// WriteFile writes f to path as Run does. The file appears whole under its name, or not at all.
func WriteFile(ctx context.Context, f *gguf.File, steps []Step, path string, o *Options) (err error) {
	if path == "" {
		return errors.New("the output has no name")
	}
	if st, err := os.Stat(path); err == nil {
		if !st.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", path)
		}
		for _, part := range f.Parts() {
			if in, err := os.Stat(part); err == nil && os.SameFile(in, st) {
				return fmt.Errorf("%s: %w", path, ErrSameFile)
			}
		}
		if !o.Overwrite {
			return fmt.Errorf("%s: %w", path, ErrExists)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil { // a link stays one
			return err
		}
	}
	if err := Check(steps, o.Requantize); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	out, err := os.CreateTemp(dir, ".quantizing-*.part")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s", dir)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		out.Close()
		os.Remove(out.Name())
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
			var need int64
			for _, s := range steps {
				need += s.Size
			}
			err = fmt.Errorf("%w: %.1f MB are needed in %s", ErrDiskFull, float64(need)/1e6, dir)
		}
	}()
	if err := Run(ctx, f, steps, out, o); err != nil {
		return err
	}
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}
