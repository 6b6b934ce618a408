package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Cached compiles what is not in a folder yet and keeps it there, under a hash of the source, the architecture, the options and the
// compiler's version. A folder that cannot be written costs time, no error; "" keeps nothing.
func (d *Driver) Cached(dir string, src Source, arch string, options []string) ([]byte, error) {
	path := ""
	if dir != "" {
		h := sha256.New()
		fmt.Fprintf(h, "%q %q %q %q %q", d.Compiler, arch, options, src.Name, src.Text)
		for _, name := range slices.Sorted(maps.Keys(src.Headers)) {
			fmt.Fprintf(h, "%q %q", name, src.Headers[name])
		}
		path = filepath.Join(dir, hex.EncodeToString(h.Sum(nil)[:16])+".bin")
		if image, err := os.ReadFile(path); err == nil && len(image) > 0 {
			return image, nil
		}
	}
	image, _, err := d.Compile(src, arch, options)
	if err == nil && path != "" {
		keepFile(path, image)
	}
	return image, err
}

// keepFile writes a file whole or not at all: several processes may write the same one.
func keepFile(path string, b []byte) {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), "part-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if e := f.Close(); err != nil || e != nil || os.Rename(f.Name(), path) != nil {
		os.Remove(f.Name())
	}
}
