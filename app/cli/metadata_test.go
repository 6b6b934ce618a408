package cli

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestValueText(t *testing.T) {
	for want, v := range map[string]any{
		`"a\nb"`:     "a\nb",
		"7":          uint32(7),
		"1e-06":      float32(1e-6),
		"true":       true,
		"[1, 2]":     []uint8{1, 2},
		`["a", "b"]`: []string{"a", "b"},
		"[]":         []int32{},
		"[0, 0, 0, 0, 0, 0, 0, 0, ...] (9 elements)":       make([]int64, 9),
		`"` + strings.Repeat("x", 200) + "... (201 bytes)": strings.Repeat("x", 201),
		`"` + strings.Repeat("é", 100) + "... (400 bytes)": strings.Repeat("é", 200),
	} {
		if got := valueText(v); got != want {
			t.Errorf("%v is written %s, expected %s", v, got, want)
		}
	}
}

// Bytes are numbers and not base64; what JSON has no number for is a word.
func TestJSONValue(t *testing.T) {
	for want, v := range map[string]any{
		"[1,2]":                []uint8{1, 2},
		`["NaN",0.5]`:          []float32{float32(math.NaN()), 0.5},
		`"+Inf"`:               math.Inf(1),
		"18446744073709551615": uint64(math.MaxUint64),
	} {
		got, err := json.Marshal(jsonValue(v))
		if err != nil || string(got) != want {
			t.Errorf("%v becomes %s, %v, expected %s", v, got, err, want)
		}
	}
}
