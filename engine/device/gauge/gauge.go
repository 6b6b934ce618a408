// Package gauge reads how much memory of a graphics card is in use, how busy it is and how warm: from amdgpu's files, and from
// NVIDIA's management library where that can be loaded. It asks no card to do anything.
package gauge

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Reading is a moment of a card.
type Reading struct {
	Total, Used int64   // bytes, by all programs
	Load        float64 // 0 to 1; -1: unknown
	Celsius     float64 // 0: unknown
}

// pci is where Linux lists cards by their address.
var pci = "/sys/bus/pci/devices"

// Read returns the reading of the card at a PCI address such as "0000:03:00.0"; false where nobody tells.
func Read(address string) (Reading, bool) {
	if r, ok := amdgpu(filepath.Join(pci, strings.ToLower(address))); ok {
		return r, true
	}
	return nvidia(address)
}

// amdgpu reads the files of AMD's kernel driver.
func amdgpu(dir string) (Reading, bool) {
	r := Reading{Load: -1}
	total, ok := number(filepath.Join(dir, "mem_info_vram_total"))
	used, also := number(filepath.Join(dir, "mem_info_vram_used"))
	if !ok || !also {
		return r, false
	}
	r.Total, r.Used = total, used
	if percent, ok := number(filepath.Join(dir, "gpu_busy_percent")); ok {
		r.Load = float64(percent) / 100
	}
	if sensors, _ := filepath.Glob(filepath.Join(dir, "hwmon", "hwmon*", "temp1_input")); len(sensors) > 0 {
		if milli, ok := number(sensors[0]); ok {
			r.Celsius = float64(milli) / 1000
		}
	}
	return r, true
}

// number reads a file that holds one.
func number(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0
}
