package engine

import (
	"fmt"
	"strings"

	"ingot/engine/gguf"
	"ingot/kernels/cpu"
)

// LoadModes are the ways a file gets into memory (Options.Load), the usual one first; see Options.
var LoadModes = []string{"mmap", "none", "dio", "mlock"}

// loadMode is what Options.Load names: how the file is read, and whether what was loaded is held in memory.
func loadMode(name string) (mode gguf.Mode, lock bool, err error) {
	switch strings.ToLower(name) {
	case "", "mmap":
		return gguf.Mapped, false, nil
	case "mlock":
		return gguf.Mapped, true, nil
	case "none":
		return gguf.Buffered, false, nil
	case "dio":
		return gguf.Direct, false, nil
	}
	return 0, false, fmt.Errorf("%w: Options.Load is %q, expected one of %s", ErrBadRequest, name, strings.Join(LoadModes, ", "))
}

// watchFile ends the process with a sentence, rather than a crash report, where a mapped file cannot be read any more.
// The function it returns ends the watch.
func watchFile(f *gguf.File) (end func()) {
	var ends []func()
	for path, data := range f.Mapped() {
		ends = append(ends, cpu.WatchReads(data, fmt.Sprintf("ingot: %s cannot be read any more: it was cut while it was in use, or its disk failed", path)))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
