package arch

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"ingot/engine/graph"
)

// ErrTensors is returned when a file's tensors are not the ones its architecture needs.
var ErrTensors = errors.New("the file's tensors do not fit its architecture")

// Bind compares the declared weights with the file's tensors (name, shape) and marks optional ones that are absent.
// The error names the tensors that are missing or misshapen, with the shape expected and the one found, and those
// that the architecture would leave out: a bias that nobody adds makes a model that talks nonsense.
func (h *Hyper) Bind(tensors iter.Seq2[string, []int64]) error {
	found := map[string][]int64{}
	var extra []string // in the order of the file
	declared := map[string]bool{}
	for _, w := range h.Weights {
		declared[w.Name] = true
	}
	for name, shape := range tensors {
		found[name] = shape
		if !declared[name] && !h.idle(name) {
			extra = append(extra, fmt.Sprintf("%s is not part of %s", name, h.Arch))
		}
	}
	var wrong []string
	for _, w := range h.Weights {
		shape, ok := found[w.Name]
		switch {
		case !ok && (w.Optional || has(found, w.Or)):
			w.Absent = true
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s is missing (expected %v)", w.Name, w.Shape))
		case !slices.Equal(trim(shape), trim(w.Shape)):
			wrong = append(wrong, fmt.Sprintf("%s has shape %v, expected %v", w.Name, shape, w.Shape))
		}
	}
	wrong = append(wrong, extra...)
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

// has tells whether there are such tensors, and all of them are in the file.
func has(found map[string][]int64, ws []*graph.Weight) bool {
	for _, w := range ws {
		if _, ok := found[w.Name]; !ok {
			return false
		}
	}
	return len(ws) > 0
}

// idle tells whether a tensor may be left out: of the blocks for drafting, the rotation tables of old converters, which
// hold what rope computes, and what the architecture named.
func (h *Hyper) idle(name string) bool {
	if h.unread[name] {
		return true
	}
	rest, ok := strings.CutPrefix(name, "blk.")
	if !ok {
		return false
	}
	block, rest, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(block)
	return err == nil && (n >= h.Layers && n < h.Blocks || strings.HasPrefix(rest, "attn_rot_embd"))
}

// trim drops trailing dimensions of 1: a vector is written as [n] or [n, 1].
func trim(shape []int64) []int64 {
	for len(shape) > 1 && shape[len(shape)-1] == 1 {
		shape = shape[:len(shape)-1]
	}
	return shape
}
