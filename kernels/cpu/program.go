package cpu

// #include <stdlib.h>
// #include "team.h"
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// ErrNoKernel is returned when no level has a kernel for an operation and element type.
var ErrNoKernel = errors.New("no kernel")

// Program is a list of steps in C memory, built once and run for any batch its buffers were sized for.
// It owns its copies of the arguments, not what they point to.
type Program struct {
	level Level
	steps *C.ig_step // [space]
	ns    *C.int64_t // [space], nil when not profiled
	space int
	infos []stepInfo
	works []work  // a step's
	done  []spent // a step's, since Profile(true)
}

// spent is what a step did in all profiled runs.
type spent struct{ calls, bytes, macs int64 }

type stepInfo struct {
	op    Op
	typ   Type
	level Level
	args  reflect.Type
}

// NewProgram returns an empty program whose kernels are of the given level, or of a lower one where that has none.
// Free it when done.
func NewProgram(level Level) *Program { return &Program{level: level} }

// Level returns the level that kernels are preferred from.
func (p *Program) Level() Level { return p.level }

// Len returns the number of steps.
func (p *Program) Len() int { return len(p.infos) }

// Add appends a step with a copy of the arguments. It wraps ErrNoKernel when nothing runs the operation for the
// weight's or cache's type, and ErrArgs when the arguments contradict each other.
func (p *Program) Add(a Args) error {
	v := reflect.ValueOf(a).Elem()
	if err := checkArgs(a); err != nil {
		return fmt.Errorf("%s: %w", a.op(), err)
	}
	info := stepInfo{op: a.op(), typ: untyped, args: v.Type()}
	if f := v.FieldByName("Type"); f.IsValid() {
		info.typ = Type(f.Int())
	}
	var at C.int
	fn := C.ig_find(C.int(p.level), C.int(info.op), C.int(info.typ), &at)
	if fn == nil {
		return fmt.Errorf("%w for %s", ErrNoKernel, info)
	}
	info.level = Level(at)
	p.grow()
	size := v.Type().Size()
	mem := C.malloc(C.size_t(size)) // cgo's malloc does not return nil
	copy(unsafe.Slice((*byte)(mem), size), unsafe.Slice((*byte)(v.Addr().UnsafePointer()), size))
	unsafe.Slice(p.steps, p.space)[len(p.infos)] = C.ig_step{fn: fn, args: mem}
	p.infos, p.works = append(p.infos, info), append(p.works, workOf(a))
	return nil
}

// grow makes room for one more step.
func (p *Program) grow() {
	if len(p.infos) < p.space {
		return
	}
	space := max(64, 2*p.space)
	steps := (*C.ig_step)(C.calloc(C.size_t(space), C.size_t(unsafe.Sizeof(C.ig_step{}))))
	if steps == nil {
		panic("cpu: out of memory")
	}
	copy(unsafe.Slice(steps, space), unsafe.Slice(p.steps, p.space))
	C.free(unsafe.Pointer(p.steps))
	p.steps, p.space = steps, space
	if p.ns != nil {
		p.Profile(true)
	}
}

// Free releases the program's C memory; it is empty afterwards. No run may be in progress.
func (p *Program) Free() {
	for _, s := range unsafe.Slice(p.steps, p.space)[:len(p.infos)] {
		C.free(unsafe.Pointer(s.args))
	}
	C.free(unsafe.Pointer(p.steps))
	p.Profile(false)
	p.steps, p.space, p.infos, p.works = nil, 0, nil, nil
}

// Profile starts, from zero, or stops the timing of each step. A timed run reads the clock once a step.
func (p *Program) Profile(on bool) {
	C.free(unsafe.Pointer(p.ns))
	p.ns, p.done = nil, nil
	if on {
		p.ns = (*C.int64_t)(C.calloc(C.size_t(max(1, p.space)), 8))
		if p.ns == nil {
			panic("cpu: out of memory")
		}
		p.done = make([]spent, p.space)
	}
}

// count books a run's work where the program is profiled.
func (p *Program) count(b *Batch) {
	if p.ns == nil {
		return
	}
	rows, outs := b.Rows(), len(b.Outs())
	for i := range p.works {
		bytes, macs := p.works[i].of(rows, outs)
		d := &p.done[i]
		d.calls, d.bytes, d.macs = d.calls+1, d.bytes+bytes, d.macs+macs
	}
}

// Timing is what the steps of one operation, type and level took together.
type Timing struct {
	Op          Op
	Type        Type // of the weights or the cache; see HasType
	Level       Level
	Steps       int           // in the program
	Calls       int64         // of these steps, since Profile(true)
	Bytes, MACs int64         // of weights read by products, and their multiply-adds, in these calls; see Work
	Time        time.Duration // of these calls, on the thread that called Run, barriers included
}

// HasType tells whether the operation is one on weights or a cache.
func (t *Timing) HasType() bool { return t.Type != untyped }

// Timings returns the profile so far, one row for each operation, type and level in order of first appearance;
// nil when the program is not profiled.
func (p *Program) Timings() []Timing {
	if p.ns == nil {
		return nil
	}
	var rows []Timing
	index := map[stepInfo]int{}
	for i, ns := range unsafe.Slice(p.ns, p.space)[:len(p.infos)] {
		info := p.infos[i]
		at, ok := index[info]
		if !ok {
			at = len(rows)
			index[info] = at
			rows = append(rows, Timing{Op: info.op, Type: info.typ, Level: info.level})
		}
		r, d := &rows[at], p.done[i]
		r.Steps++
		r.Calls, r.Bytes, r.MACs = r.Calls+d.calls, r.Bytes+d.bytes, r.MACs+d.macs
		r.Time += time.Duration(ns)
	}
	return rows
}

func (i stepInfo) String() string {
	if i.typ == untyped {
		return i.op.String()
	}
	return i.op.String() + " " + i.typ.String()
}

// String lists the steps, one a line: number, operation, level, arguments. Pointers are numbered in order of first
// appearance, so that equal programs print equally and the flow of data can be followed.
func (p *Program) String() string {
	var b strings.Builder
	names := map[unsafe.Pointer]int{}
	for i, s := range unsafe.Slice(p.steps, p.space)[:len(p.infos)] {
		info := p.infos[i]
		fmt.Fprintf(&b, "%3d %s/%s", i, info.op, info.level)
		v := reflect.NewAt(info.args, unsafe.Pointer(s.args)).Elem()
		for j := range v.NumField() {
			field, name := v.Field(j), strings.ToLower(info.args.Field(j).Name)
			if ptr, ok := field.Interface().(unsafe.Pointer); ok {
				if ptr == nil {
					continue
				}
				n, seen := names[ptr]
				if !seen {
					n = len(names)
					names[ptr] = n
				}
				fmt.Fprintf(&b, " %s=@%d", name, n)
				continue
			}
			fmt.Fprintf(&b, " %s=%v", name, field.Interface())
		}
		b.WriteByte('\n')
	}
	return b.String()
}
