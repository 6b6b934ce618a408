package gguf

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a file whose reads bypass the page cache; an error where its file system has no such reads.
func openDirect(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
}
