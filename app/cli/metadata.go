package cli

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

const (
	shownElements = 8   // of an array
	shownBytes    = 200 // of a string
)

// valueText writes a metadata value on one line: strings quoted, the beginning of long arrays and strings with their
// length.
func valueText(v any) string {
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.String {
		s := r.String()
		if len(s) > shownBytes {
			return fmt.Sprintf("%s... (%d bytes)", strings.TrimSuffix(strconv.Quote(cut(s, shownBytes)), `"`), len(s))
		}
		return strconv.Quote(s)
	}
	if r.Kind() != reflect.Slice {
		return fmt.Sprint(v)
	}
	var parts []string
	for i := range min(r.Len(), shownElements) {
		parts = append(parts, valueText(r.Index(i).Interface()))
	}
	if r.Len() > shownElements {
		return fmt.Sprintf("[%s, ...] (%d elements)", strings.Join(parts, ", "), r.Len())
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// cut shortens a string to at most n bytes, between characters.
func cut(s string, n int) string {
	end := 0
	for i := range s {
		if i > n {
			break
		}
		end = i
	}
	return s[:end]
}

// jsonValue is a value that JSON can hold: bytes as numbers, not as base64, and what is no number as a string.
func jsonValue(v any) any {
	r := reflect.ValueOf(v)
	switch {
	case r.CanFloat() && (math.IsNaN(r.Float()) || math.IsInf(r.Float(), 0)):
		return fmt.Sprint(v)
	case r.Kind() == reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = jsonValue(r.Index(i).Interface())
		}
		return list
	}
	return v
}
