package arch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrTensors is returned when a file's tensors are not the ones its architecture needs.
var ErrTensors = errors.New("the file's tensors do not fit its architecture")

// Bind compares the declared weights with the file's tensors and marks optional ones that are absent. The error
// names every tensor that is missing or misshapen, with the shape expected and the one found.
func (h *Hyper) Bind(find func(name string) (shape []int64, ok bool)) error {
	var wrong []string
	for _, w := range h.Weights {
		shape, ok := find(w.Name)
		switch {
		case !ok && w.Optional:
			w.Absent = true
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s is missing (expected %v)", w.Name, w.Shape))
		case !slices.Equal(trim(shape), trim(w.Shape)):
			wrong = append(wrong, fmt.Sprintf("%s has shape %v, expected %v", w.Name, shape, w.Shape))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	more := ""
	if n := len(wrong); n > 8 {
		more = fmt.Sprintf("; and %d more", n-8)
		wrong = wrong[:8]
	}
	return fmt.Errorf("%w: %s%s", ErrTensors, strings.Join(wrong, "; "), more)
}

// trim drops trailing dimensions of 1: a vector is written as [n] or [n, 1].
func trim(shape []int64) []int64 {
	for len(shape) > 1 && shape[len(shape)-1] == 1 {
		shape = shape[:len(shape)-1]
	}
	return shape
}
