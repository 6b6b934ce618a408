package prefs

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	cwd, _ := os.Getwd()
	for _, c := range []struct {
		goos, tmp string
		env       map[string]string
		want      Paths
	}{
		{"linux", "/tmp", nil, Paths{"/home/u/.local/share/ingot", "/home/u/.cache/ingot", []string{"/tmp/ingot-7"}}},
		{"linux", "/tmp", map[string]string{"XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "relative", "XDG_RUNTIME_DIR": "/run/user/7"},
			Paths{"/d/ingot", "/home/u/.cache/ingot", []string{"/run/user/7/ingot", "/tmp/ingot-7"}}},
		{"linux", "/tmp", map[string]string{"INGOT_DATA": "here", "INGOT_CACHE": "/c"}, Paths{filepath.Join(cwd, "here"), "/c", []string{"/tmp/ingot-7"}}},
		{"darwin", "/var/folders/ab/T", map[string]string{"XDG_DATA_HOME": "/d"},
			Paths{"/home/u/Library/Application Support/Ingot", "/home/u/Library/Caches/Ingot", []string{"/var/folders/ab/T/ingot-7", "/tmp/ingot-7"}}},
	} {
		got, err := locate(c.goos, func(k string) string { return c.env[k] }, "/home/u", c.tmp, 7)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %v: %+v %v", c.goos, c.env, got, err)
		}
	}
	if _, err := locate("linux", func(string) string { return "" }, "", "/tmp", 7); err == nil {
		t.Error("no home, no error")
	}
	if p, err := Locate(); err != nil || filepath.Base(p.Database()) != "ingot.db" {
		t.Errorf("here: %+v %v", p, err)
	}
}

// short makes a folder with a short path; those of t.TempDir can be too long for a socket.
func short(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "ig")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestSocket(t *testing.T) {
	dir := short(t)
	long := filepath.Join(dir, strings.Repeat("l", 90))
	missing := filepath.Join(dir, "missing", "ingot")
	link := filepath.Join(dir, "link")
	good := filepath.Join(dir, "good")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(good, 0o755); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skip(err)
	}
	stale := filepath.Join(good, "engine-"+strconv.Itoa(gone.Process.Pid)+".sock")
	alive := filepath.Join(good, "engine-"+strconv.Itoa(os.Getppid())+".sock")
	other := filepath.Join(good, "note.sock")
	for _, f := range []string{stale, alive, other} {
		os.WriteFile(f, nil, 0o600)
	}

	path, err := Paths{Runtime: []string{long, missing, link, good}}.Socket("engine")
	if err != nil || filepath.Dir(path) != good || len(path) > socketMax {
		t.Fatalf("%q %v", path, err)
	}
	if st, _ := os.Stat(good); st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", st.Mode())
	}
	for f, want := range map[string]bool{stale: false, alive: true, other: true} {
		if _, err := os.Stat(f); (err == nil) != want {
			t.Errorf("%s is there: %v", filepath.Base(f), err == nil)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()

	_, err = Paths{Runtime: []string{long, missing, link}}.Socket("engine")
	if err == nil || !strings.Contains(err.Error(), "longer than") || !strings.Contains(err.Error(), "not a folder of this user") {
		t.Errorf("no place: %v", err)
	}
	t.Log(err)
}
