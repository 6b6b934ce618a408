//go:build !linux && !darwin

package device

import "fmt"

func systemMemory() (total, free int64) { return 0, 0 }

func processorName() string { return "CPU" }

// LockMemory is not possible on this system.
func LockMemory() error { return fmt.Errorf("%w: locking memory", ErrUnsupported) }
