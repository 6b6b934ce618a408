package cpu

import (
	"reflect"
	"slices"
	"testing"
)

// everyArgs holds one of each argument struct, in the order of the operations.
var everyArgs = []Args{&Embed{}, &Quantize{}, &Matmul{}, &Experts{}, &Norm{}, &Rope{}, &KVStore{}, &Attention{}, &Conv{},
	&Delta{}, &GLU{}, &Route{}, &Combine{}, &Gather{}, &Add{}, &Repack{}, &Zero{}, &AllReduce{}, &AllGather{}}

func TestArgsMirrorC(t *testing.T) {
	batch, seq, ops, levels := cSizes()
	if len(everyArgs) != ops || len(opNames) != ops || len(levelNames) != levels {
		t.Fatalf("%d argument structs, %d operation names, %d level names; C has %d operations, %d levels",
			len(everyArgs), len(opNames), len(levelNames), ops, levels)
	}
	if seq != reflect.TypeFor[Seq]().Size() || batch%8 != 0 {
		t.Errorf("a sequence takes %d bytes in C, a batch %d", seq, batch)
	}
	for i, a := range everyArgs {
		typ := reflect.TypeOf(a).Elem()
		if a.op() != Op(i) {
			t.Errorf("%v has operation %v, expected %v", typ, a.op(), Op(i))
		}
		var offsets []uintptr
		for f := range typ.NumField() {
			offsets = append(offsets, typ.Field(f).Offset)
		}
		size, want := cLayout(a.op())
		if typ.Size() != size || !slices.Equal(offsets, want) {
			t.Errorf("%v: size %d, offsets %v; C: size %d, offsets %v", typ, typ.Size(), offsets, size, want)
		}
	}
}
