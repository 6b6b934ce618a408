package prefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Paths are the folders of the application. They are made when they are first used.
type Paths struct {
	Data  string // the database; INGOT_DATA says otherwise
	Cache string // what can be made again: the unpacked sample model, compiled kernels; INGOT_CACHE says otherwise
}

// Locate returns the folders on this machine for this user.
func Locate() (Paths, error) {
	home, _ := os.UserHomeDir()
	return locate(runtime.GOOS, os.Getenv, home)
}

// locate follows the XDG base directories on Linux, where a relative value is ignored, and Apple's on macOS.
func locate(goos string, env func(string) string, home string) (Paths, error) {
	xdg := func(name, otherwise string) string {
		if v := env(name); filepath.IsAbs(v) {
			return filepath.Join(v, "ingot")
		}
		return filepath.Join(home, otherwise, "ingot")
	}
	var p Paths
	if goos == "darwin" {
		p.Data = filepath.Join(home, "Library", "Application Support", "Ingot")
		p.Cache = filepath.Join(home, "Library", "Caches", "Ingot")
	} else {
		p.Data = xdg("XDG_DATA_HOME", ".local/share")
		p.Cache = xdg("XDG_CACHE_HOME", ".cache")
	}
	for name, dir := range map[string]*string{"INGOT_DATA": &p.Data, "INGOT_CACHE": &p.Cache} {
		if v := env(name); v != "" {
			abs, err := filepath.Abs(v)
			if err != nil {
				return Paths{}, fmt.Errorf("%s: %w", name, err)
			}
			*dir = abs
		}
	}
	if !filepath.IsAbs(p.Data) || !filepath.IsAbs(p.Cache) {
		return Paths{}, errors.New("this user has no home folder: set HOME, or INGOT_DATA and INGOT_CACHE")
	}
	return p, nil
}

// Database returns where the database lies.
func (p Paths) Database() string { return filepath.Join(p.Data, "ingot.db") }
