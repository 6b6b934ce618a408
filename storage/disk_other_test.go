//go:build !linux

package storage

import "errors"

func tinyDisk(string, int) error { return errors.New("not on this system") }
