package prefs

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestLocate(t *testing.T) {
	cwd, _ := os.Getwd()
	for _, c := range []struct {
		goos string
		env  map[string]string
		want Paths
	}{
		{"linux", nil, Paths{"/home/u/.local/share/ingot", "/home/u/.cache/ingot"}},
		{"linux", map[string]string{"XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "relative"},
			Paths{"/d/ingot", "/home/u/.cache/ingot"}},
		{"linux", map[string]string{"INGOT_DATA": "here", "INGOT_CACHE": "/c"}, Paths{filepath.Join(cwd, "here"), "/c"}},
		{"darwin", map[string]string{"XDG_DATA_HOME": "/d"},
			Paths{"/home/u/Library/Application Support/Ingot", "/home/u/Library/Caches/Ingot"}},
	} {
		got, err := locate(c.goos, func(k string) string { return c.env[k] }, "/home/u")
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %v: %+v %v", c.goos, c.env, got, err)
		}
	}
	if _, err := locate("linux", func(string) string { return "" }, ""); err == nil {
		t.Error("no home, no error")
	}
	if p, err := Locate(); err != nil || filepath.Base(p.Database()) != "ingot.db" {
		t.Errorf("here: %+v %v", p, err)
	}
}
