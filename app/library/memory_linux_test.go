package library

import "testing"

func TestControlGroups(t *testing.T) {
	const info = "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:   12000000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  Memory
	}{
		"none": {map[string]string{"proc/self/cgroup": "0::/\n"}, Memory{16000000 << 10, 12000000 << 10}},
		"unified, limit above": {map[string]string{
			"proc/self/cgroup":                  "0::/user/app\n",
			"sys/fs/cgroup/user/app/memory.max": "max\n",
			"sys/fs/cgroup/user/memory.max":     "4294967296\n",
			"sys/fs/cgroup/user/memory.current": "2147483648\n",
			"sys/fs/cgroup/user/memory.stat":    "anon 5\ninactive_file 1073741824\n",
		}, Memory{4 << 30, 3 << 30}},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:devices:/\n4:memory:/box\n0::/\n",
			"sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/box/memory.usage_in_bytes": "2147483648\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, Memory{1 << 30, 0}},
	} {
		root := folder(t)
		write(t, root, c.files)
		write(t, root, map[string]string{"proc/meminfo": info})
		if m, err := systemMemory(root); err != nil || m != c.want {
			t.Errorf("%s: %+v %v, want %+v", name, m, err, c.want)
		}
	}
	root := folder(t)
	write(t, root, map[string]string{"proc/meminfo": "nonsense\n"})
	if _, err := systemMemory(root); err == nil {
		t.Error("no MemTotal, no error")
	}
}
