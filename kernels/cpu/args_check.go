package cpu

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// ErrArgs is returned when a step's arguments contradict the kernel's contract: a pointer is missing, or a shape is
// one that no kernel takes. What the pointers' memory holds, and how much of it there is, cannot be checked.
var ErrArgs = errors.New("bad kernel arguments")

func checkArgs(a Args) error {
	v := reflect.ValueOf(a).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if p, ok := v.Field(i).Interface().(unsafe.Pointer); ok && p == nil && field.Tag.Get("cpu") != "optional" {
			return fmt.Errorf("%w: no %s", ErrArgs, field.Name)
		}
	}
	switch a := a.(type) {
	case *Embed:
		return errors.Join(positive("Cols", a.Cols), positive("Vocab", a.Vocab), whole(a.Type, a.Cols))
	case *Quantize:
		return errors.Join(positive("Cols", a.Cols), multiple("Cols", a.Cols, 32))
	case *Matmul:
		return errors.Join(positive("M", a.M), positive("K", a.K), whole(a.Type, a.K))
	case *Experts:
		return errors.Join(positive("M", a.M), positive("K", a.K), whole(a.Type, a.K), among(a.Used, a.Experts))
	case *Norm:
		return errors.Join(positive("Heads", a.Heads), positive("Cols", a.Cols))
	case *Rope:
		return errors.Join(positive("Heads", a.Heads), positive("Rot", a.Rot), multiple("Rot", a.Rot, 2))
	case *KVStore:
		return errors.Join(positive("Heads", a.Heads), positive("Dim", a.Dim), positive("Cells", a.Cells), whole(a.Type, a.Dim),
			whole(a.VType, a.Dim), cached(a.VType))
	case *Attention:
		err := errors.Join(positive("KVHeads", a.KVHeads), positive("Heads", a.Heads), positive("Dim", a.Dim), positive("Cells", a.Cells),
			whole(a.Type, a.Dim), whole(a.VType, a.Dim), cached(a.VType))
		if err != nil {
			return err
		}
		return multiple("Heads", a.Heads, a.KVHeads)
	case *Conv:
		return errors.Join(positive("Cols", a.Cols), positive("Width", a.Width))
	case *Delta:
		return errors.Join(positive("KHeads", a.KHeads), positive("VHeads", a.VHeads), positive("Dim", a.Dim))
	case *GLU:
		return errors.Join(positive("Cols", a.Cols), positive("Times", a.Times))
	case *Route:
		return among(a.Used, a.Experts)
	case *Combine:
		return errors.Join(positive("Cols", a.Cols), positive("Used", a.Used))
	case *Gather:
		return positive("Cols", a.Cols)
	case *Add:
		return positive("Cols", a.Cols)
	case *Zero:
		return positive("Cols", a.Cols)
	case *AllReduce:
		return positive("Cols", a.Cols)
	case *AllGather:
		return positive("Times", a.Times)
	case *Repack:
		return errors.Join(positive("M", a.M), positive("K", a.K), whole(a.Type, a.K))
	}
	return nil
}

func positive[N int32 | int64](name string, n N) error {
	if n < 1 {
		return fmt.Errorf("%w: %s is %d", ErrArgs, name, n)
	}
	return nil
}

func multiple(name string, n, of int32) error {
	if n%of != 0 {
		return fmt.Errorf("%w: %s is %d, not a multiple of %d", ErrArgs, name, n, of)
	}
	return nil
}

// whole checks that a row of n values is whole blocks; a type without kernels is reported as such elsewhere.
func whole(t Type, n int32) error {
	if block, _ := t.Block(); block > 0 && n%int32(block) != 0 {
		return fmt.Errorf("%w: a row of %d values is not whole blocks of %d of %v", ErrArgs, n, block, t)
	}
	return nil
}

// cached checks the type of values; that of keys chooses the kernel.
func cached(t Type) error {
	if !KVCacheType(t) {
		return fmt.Errorf("%w for a cache of %v", ErrNoKernel, t)
	}
	return nil
}

func among(used, experts int32) error {
	if used < 1 || used > experts {
		return fmt.Errorf("%w: %d of %d experts used", ErrArgs, used, experts)
	}
	return nil
}
