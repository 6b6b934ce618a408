package assets

import (
	"fmt"
	"syscall"
)

// tinyDisk mounts a file system of so many bytes; only root may.
func tinyDisk(dir string, bytes int) error {
	return syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
}

func unmount(dir string) { syscall.Unmount(dir, syscall.MNT_DETACH) }
