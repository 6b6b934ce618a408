package engine

import (
	"fmt"
	"strings"
	"unsafe"

	"ingot/engine/device"
	"ingot/engine/gguf"
	"ingot/engine/plan"
)

// loadMode is what Options.Load names: how the file is read, and whether what was loaded is held in memory.
func loadMode(name string) (mode gguf.Mode, lock bool, err error) {
	switch strings.ToLower(name) {
	case "", "mmap":
		return gguf.Mapped, false, nil
	case "mlock":
		return gguf.Mapped, true, nil
	case "none":
		return gguf.Read, false, nil
	case "dio":
		return gguf.Direct, false, nil
	}
	return 0, false, fmt.Errorf("%w: Options.Load is %q, expected mmap, none, mlock or dio", ErrBadRequest, name)
}

// fetching reads the weights of a model whose file is not mapped, a stage at a time.
type fetching struct {
	file    *gguf.File
	weights []device.Weight
	tables  [][]byte // the data that lanes look rows up in where it lies; it is never given back
}

// newFetching returns nil for a mapped file: pages come by themselves.
func newFetching(f *gguf.File, mode gguf.Mode, weights []device.Weight, top *plan.Topology) *fetching {
	if mode == gguf.Mapped {
		return nil
	}
	t := &fetching{file: f, weights: weights}
	for _, s := range top.Stages {
		for _, l := range s.Lanes {
			used, table := l.Plan.Weights()
			for _, w := range used {
				if table[w] {
					t.tables = append(t.tables, weights[w.ID].Data)
				}
			}
		}
	}
	return t
}

// stage reads what a stage's lanes hold.
func (t *fetching) stage(s *plan.Stage) error {
	if t == nil {
		return nil
	}
	done := map[int]bool{}
	for _, l := range s.Lanes {
		used, _ := l.Plan.Weights()
		for _, w := range used {
			if done[w.ID] {
				continue
			}
			done[w.ID] = true
			if err := t.file.Need(t.weights[w.ID].Data); err != nil {
				return err
			}
		}
	}
	return nil
}

// loaded gives back what the lanes of a stage copied column by column.
func (t *fetching) loaded(s *plan.Stage) {
	if t == nil {
		return
	}
	for _, l := range s.Lanes {
		used, _ := l.Plan.Weights()
		for _, w := range used {
			if w.Part != nil && w.Part.Axis == 0 && len(w.Shape) > 1 {
				t.release(t.weights[w.ID].Data)
			}
		}
	}
}

// release is device.Spec.Release: data that was copied is not needed again, except in tables.
func (t *fetching) release(data []byte) {
	for _, table := range t.tables {
		if within(data, table) {
			return
		}
	}
	t.file.Release(data)
}

// within tells whether a lies in b.
func within(a, b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(a))) - uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at < uintptr(len(b))
}
