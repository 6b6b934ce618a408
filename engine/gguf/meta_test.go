package gguf

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestGetters(t *testing.T) {
	m := NewMeta()
	for _, kv := range []struct {
		key string
		v   any
	}{
		{"u8", uint8(200)}, {"i8", int8(-3)}, {"u16", uint16(60000)}, {"i16", int16(-4)}, {"u32", uint32(4e9)}, {"i32", int32(7)},
		{"u64", uint64(math.MaxUint64)}, {"i64", int64(math.MinInt64)}, {"f32", float32(0.5)}, {"f64", 0.1}, {"b", true}, {"s", "text"},
		{"[]i16", []int16{-1, 2}}, {"[]u8", []uint8{255}}, {"[]u64", []uint64{1, 1 << 63}}, {"[]b", []bool{true, false}},
		{"[]f32", []float32{1, 2}}, {"[]f64", []float64{0.1}}, {"[]s", []string{"a", ""}},
	} {
		m.Set(kv.key, kv.v)
	}
	uints := func(k string) (any, error) { return m.Uint(k) }
	ints := func(k string) (any, error) { return m.Int(k) }
	floats := func(k string) (any, error) { return m.Float(k) }
	strs := func(k string) (any, error) { return m.String(k) }
	bools := func(k string) (any, error) { return m.Bool(k) }
	intArrays := func(k string) (any, error) { return m.Ints(k) }
	floatArrays := func(k string) (any, error) { return m.Floats(k) }
	strArrays := func(k string) (any, error) { return m.Strings(k) }
	for _, c := range []struct {
		get  func(string) (any, error)
		key  string
		want any // an error's text where get fails
	}{
		{uints, "u8", uint64(200)}, {uints, "i32", uint64(7)}, {uints, "u64", uint64(math.MaxUint64)},
		{uints, "i8", errors.New(`key "i8" is int8 -3, expected an integer from 0`)},
		{uints, "f32", errors.New(`key "f32" is float32, expected an integer`)},
		{ints, "i8", int64(-3)}, {ints, "i16", int64(-4)}, {ints, "u16", int64(60000)}, {ints, "u32", int64(4e9)}, {ints, "i64", int64(math.MinInt64)},
		{ints, "u64", errors.New(`key "u64" is uint64 18446744073709551615, expected an integer of 63 bits`)},
		{ints, "b", errors.New(`key "b" is bool, expected an integer`)},
		{floats, "f32", 0.5}, {floats, "f64", 0.1},
		{floats, "i32", errors.New(`key "i32" is int32, expected a float`)},
		{strs, "s", "text"}, {strs, "[]s", errors.New(`key "[]s" is []string, expected string`)},
		{bools, "b", true}, {bools, "u8", errors.New(`key "u8" is uint8, expected bool`)},
		{intArrays, "[]i16", []int64{-1, 2}}, {intArrays, "[]u8", []int64{255}}, {intArrays, "[]b", []int64{1, 0}},
		{intArrays, "[]u64", errors.New(`key "[]u64" is []uint64 with 9223372036854775808, expected integers of 63 bits`)},
		{intArrays, "i32", errors.New(`key "i32" is int32, expected an array of integers`)},
		{intArrays, "[]f32", errors.New(`key "[]f32" is []float32, expected an array of integers`)},
		{floatArrays, "[]f32", []float64{1, 2}}, {floatArrays, "[]f64", []float64{0.1}},
		{floatArrays, "[]s", errors.New(`key "[]s" is []string, expected an array of floats`)},
		{strArrays, "[]s", []string{"a", ""}}, {strArrays, "s", errors.New(`key "s" is string, expected []string`)},
	} {
		got, err := c.get(c.key)
		if want, fails := c.want.(error); fails {
			var te *TypeError
			if err == nil || err.Error() != want.Error() || !errors.As(err, &te) || te.Key != c.key {
				t.Errorf("%s: %v, %v, expected error %q", c.key, got, err, want)
			}
		} else if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v, expected %v", c.key, got, err, c.want)
		}
	}
	for _, get := range []func(string) (any, error){uints, ints, floats, strs, bools, intArrays, floatArrays, strArrays} {
		_, err := get("none")
		if !errors.Is(err, ErrNoKey) || err.Error() != `no such key: "none"` {
			t.Error(err)
		}
	}
}

func TestOrder(t *testing.T) {
	m := NewMeta()
	for _, k := range []string{"c", "a", "b", "a"} {
		m.Set(k, k)
	}
	m.Set("a", uint8(1))
	if got := m.Keys(); !slices.Equal(got, []string{"c", "a", "b"}) {
		t.Error(got)
	}
	if v, ok := m.Value("a"); !ok || v != uint8(1) {
		t.Error(v, ok)
	}
	m.Delete("c")
	m.Delete("none")
	if got := m.Keys(); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
	if _, ok := m.Value("c"); ok {
		t.Error("c is still there")
	}
}
