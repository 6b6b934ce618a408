//go:build !linux

package assets

import "errors"

func tinyDisk(string, int) error { return errors.ErrUnsupported }

func unmount(string) {}
