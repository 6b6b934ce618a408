package gguf

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNoKey is returned when a key is not in the metadata.
var ErrNoKey = errors.New("no such key")

// TypeError is returned when a key holds another type than asked for, or a number that does not fit.
type TypeError struct {
	Key  string
	Want string // what was asked for, such as "string"
	Have string // what is there, such as "[]uint32"
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("key %q is %s, expected %s", e.Key, e.Have, e.Want)
}

// Meta is an ordered list of keys and values. A value is a bool, a string, a sized integer (int8 to int64,
// uint8 to uint64), float32, float64, or a slice of one of these.
type Meta struct {
	keys   []string
	values map[string]any
}

// NewMeta returns an empty Meta.
func NewMeta() *Meta { return &Meta{values: map[string]any{}} }

// Set replaces the value of key in its place, or appends the key. Write refuses values of types not listed
// at Meta.
func (m *Meta) Set(key string, v any) {
	if _, ok := m.values[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.values[key] = v
}

// Delete removes key, if present.
func (m *Meta) Delete(key string) {
	if _, ok := m.values[key]; ok {
		delete(m.values, key)
		m.keys = slices.DeleteFunc(m.keys, func(k string) bool { return k == key })
	}
}

// Keys returns the keys in order.
func (m *Meta) Keys() []string { return slices.Clone(m.keys) }

// Value returns the value of key as it is. A slice is Meta's own and must not be changed.
func (m *Meta) Value(key string) (any, bool) {
	v, ok := m.values[key]
	return v, ok
}

func (m *Meta) get(key string) (any, error) {
	v, ok := m.values[key]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNoKey, key)
	}
	return v, nil
}

// exact returns the value of key where it is a T.
func exact[T any](m *Meta, key string) (T, error) {
	v, err := m.get(key)
	t, ok := v.(T)
	if err == nil && !ok {
		err = &TypeError{key, fmt.Sprintf("%T", t), fmt.Sprintf("%T", v)}
	}
	return t, err
}

// String returns a string.
func (m *Meta) String(key string) (string, error) { return exact[string](m, key) }

// Bool returns a bool.
func (m *Meta) Bool(key string) (bool, error) { return exact[bool](m, key) }

// Strings returns an array of strings, Meta's own slice: not to be changed.
func (m *Meta) Strings(key string) ([]string, error) { return exact[[]string](m, key) }

// Uint returns an integer of any width that is not negative.
func (m *Meta) Uint(key string) (uint64, error) {
	v, err := m.get(key)
	if err != nil {
		return 0, err
	}
	switch i, u, kind := integer(v); {
	case kind == signed && i >= 0:
		return uint64(i), nil
	case kind == unsigned:
		return u, nil
	case kind == signed:
		return 0, &TypeError{key, "an integer from 0", fmt.Sprintf("%T %d", v, v)}
	}
	return 0, &TypeError{key, "an integer", fmt.Sprintf("%T", v)}
}

// Int returns an integer of any width that fits int64.
func (m *Meta) Int(key string) (int64, error) {
	v, err := m.get(key)
	if err != nil {
		return 0, err
	}
	switch i, u, kind := integer(v); {
	case kind == signed:
		return i, nil
	case kind == unsigned && u <= math.MaxInt64:
		return int64(u), nil
	case kind == unsigned:
		return 0, &TypeError{key, "an integer of 63 bits", fmt.Sprintf("%T %d", v, v)}
	}
	return 0, &TypeError{key, "an integer", fmt.Sprintf("%T", v)}
}

// Float returns a float of either width.
func (m *Meta) Float(key string) (float64, error) {
	v, err := m.get(key)
	if err != nil {
		return 0, err
	}
	switch v := v.(type) {
	case float32:
		return float64(v), nil
	case float64:
		return v, nil
	}
	return 0, &TypeError{key, "a float", fmt.Sprintf("%T", v)}
}

// Ints returns a new slice with the elements of an array of integers of any width, or of bools as 0 and 1.
func (m *Meta) Ints(key string) ([]int64, error) {
	v, err := m.get(key)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []int8:
		return widen[int64](v), nil
	case []int16:
		return widen[int64](v), nil
	case []int32:
		return widen[int64](v), nil
	case []int64:
		return slices.Clone(v), nil
	case []uint8:
		return widen[int64](v), nil
	case []uint16:
		return widen[int64](v), nil
	case []uint32:
		return widen[int64](v), nil
	case []uint64:
		for _, u := range v {
			if u > math.MaxInt64 {
				return nil, &TypeError{key, "integers of 63 bits", fmt.Sprintf("[]uint64 with %d", u)}
			}
		}
		return widen[int64](v), nil
	case []bool:
		out := make([]int64, len(v))
		for i, b := range v {
			if b {
				out[i] = 1
			}
		}
		return out, nil
	}
	return nil, &TypeError{key, "an array of integers", fmt.Sprintf("%T", v)}
}

// Floats returns a new slice with the elements of an array of floats of either width.
func (m *Meta) Floats(key string) ([]float64, error) {
	v, err := m.get(key)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []float32:
		return widen[float64](v), nil
	case []float64:
		return slices.Clone(v), nil
	}
	return nil, &TypeError{key, "an array of floats", fmt.Sprintf("%T", v)}
}

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func widen[T, F number](from []F) []T {
	out := make([]T, len(from))
	for i, v := range from {
		out[i] = T(v)
	}
	return out
}

type intKind int

const (
	notInteger intKind = iota
	signed
	unsigned
)

// integer returns a sized integer in the result that its kind names.
func integer(v any) (int64, uint64, intKind) {
	switch v := v.(type) {
	case int8:
		return int64(v), 0, signed
	case int16:
		return int64(v), 0, signed
	case int32:
		return int64(v), 0, signed
	case int64:
		return v, 0, signed
	case uint8:
		return 0, uint64(v), unsigned
	case uint16:
		return 0, uint64(v), unsigned
	case uint32:
		return 0, uint64(v), unsigned
	case uint64:
		return 0, v, unsigned
	}
	return 0, 0, notInteger
}
