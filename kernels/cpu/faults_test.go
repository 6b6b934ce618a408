package cpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file that is cut while it is mapped ends the process with the sentence of its watch, whether Go code, a kernel on
// the caller's thread or one on a worker reads it; without a watch it crashes as any Go program does.
func TestWatchReads(t *testing.T) {
	const asked = "INGOT_TEST_FAULT"
	if how := os.Getenv(asked); how != "" {
		readCutFile(t, how)
		return
	}
	for how, want := range map[string]string{"go": "the file was cut", "kernel": "the file was cut", "worker": "the file was cut", "ended": "SIGBUS", "other": "SIGBUS"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWatchReads$")
		cmd.Env = append(os.Environ(), asked+"="+how, asked+"_FILE="+filepath.Join(t.TempDir(), "weights"))
		var said bytes.Buffer
		cmd.Stderr = &said
		var exit *exec.ExitError
		if err := cmd.Run(); errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator runs this program, which cannot start itself")
		} else if !errors.As(err, &exit) {
			t.Errorf("%s: ended with %v", how, err)
		} else if watched := want != "SIGBUS"; watched && (exit.ExitCode() != 1 || said.String() != want+"\n") {
			t.Errorf("%s: exit code %d, said %.300q", how, exit.ExitCode(), said.String())
		} else if !watched && (exit.ExitCode() == 1 || !strings.Contains(said.String(), want) && !strings.Contains(said.String(), "fault address")) {
			t.Errorf("%s: exit code %d, said %.300q", how, exit.ExitCode(), said.String())
		}
	}
}

func readCutFile(t *testing.T, how string) {
	const size = 1 << 20
	f, err := os.Create(os.Getenv("INGOT_TEST_FAULT_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	WatchReads(mem[:0], "nothing")()
	first := WatchReads(make([]byte, 100), "another")
	watch := WatchReads(mem, "the file was cut")
	first()
	switch how {
	case "ended":
		watch()
	case "other":
		watch()
		WatchReads(make([]byte, 100), "another")
	}
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	switch how {
	case "kernel":
		_ = Dequantize(Q8_0, mem[:size/34*34], make([]float32, size/34*32))
	case "worker":
		p := newProduct(t, 1, F32, 64, 1024, 1)
		p.w = mem[:64*1024*4]
		p.matmul(t, Generic, 2, 0, 1, false, false)
	default:
		fmt.Println(mem[size/2])
	}
}
