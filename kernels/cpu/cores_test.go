package cpu

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNodes(t *testing.T) {
	dir := t.TempDir()
	for node, list := range map[string]string{"node0": "0-3,8-11\n", "node1": "4-7,12-15\n", "node2": "\n"} { // the last has memory only
		if err := os.Mkdir(filepath.Join(dir, node), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, node, "cpulist"), []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	nodes := memoryNodes(dir)
	for _, c := range []struct {
		cores []int
		want  int
	}{{[]int{0, 1, 2, 3, 4, 5, 6, 7}, 2}, {[]int{4, 5}, 1}, {nil, 1}} {
		if got := countNodes(c.cores, nodes); got != c.want {
			t.Errorf("cores %v lie on %d nodes, expected %d", c.cores, got, c.want)
		}
	}
	if n := countNodes([]int{0, 1}, nil); n != 1 {
		t.Errorf("without nodes there are %d, expected 1", n)
	}
	if n := Nodes(); n < 1 || n > Cores() {
		t.Errorf("this machine has %d nodes and %d cores", n, Cores())
	}
}
