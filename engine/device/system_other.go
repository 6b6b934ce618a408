//go:build !linux && !darwin

package device

func systemMemory() (total, free int64) { return 0, 0 }

func processorName() string { return "CPU" }
