package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Filters that make or round numbers.

// toInt is the int filter; def where v is no number.
func (r *run) toInt(v, def Value, base int64) Value {
	if s, ok := asString(v); ok {
		if i, ok := parseInt(s, base); ok {
			return i
		}
	}
	switch x := v.(type) {
	case int64, *big.Int:
		return v
	case bool:
		i, _ := asInt(v)
		return i
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return def
		}
	}
	f, ok := r.toFloat(v)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return def
	}
	f = math.Trunc(f)
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	b, _ := big.NewFloat(f).Int(nil)
	return b
}

// parseInt is Python's int(s, base).
func parseInt(s string, base int64) (Value, bool) {
	s = strings.TrimFunc(s, isSpace)
	if base != 0 && (base < 2 || base > 36) || len(s) > maxDigits {
		return nil, false
	}
	sign := ""
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		sign, s = s[:1], s[1:]
	}
	lower := strings.ToLower(s)
	prefix := map[int64]string{16: "0x", 8: "0o", 2: "0b"}
	for b, p := range prefix {
		if (base == b || base == 0) && strings.HasPrefix(lower, p) {
			s = strings.TrimPrefix(s[2:], "_")
			base = b
			break
		}
	}
	if base == 0 {
		base = 10
	}
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	if s == "" || s[0] == '-' || s[0] == '+' {
		return nil, false
	}
	if i, err := strconv.ParseInt(sign+s, int(base), 64); err == nil {
		return i, true
	}
	b, ok := new(big.Int).SetString(sign+s, int(base))
	return b, ok
}

// toFloat is Python's float(v) of a number or text.
func (r *run) toFloat(v Value) (float64, bool) {
	if u, ok := v.(*undefined); ok {
		r.failUndefined(u)
	}
	if f, ok := asFloat(v); ok {
		return f, true
	}
	s, ok := asString(v)
	if !ok {
		return 0, false
	}
	s = strings.ToLower(strings.TrimFunc(s, isSpace))
	switch strings.TrimLeft(s, "+-") {
	case "inf", "infinity", "nan":
	default:
		if strings.ContainsAny(s, "xpin") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
			return 0, false
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func round(r *run, v Value, a []Value) Value {
	digits := r.wantInt(a[0], 0)
	method := "common"
	if a[1] != missing {
		method, _ = asString(a[1])
	}
	if u, ok := v.(*undefined); ok {
		r.failUndefined(u)
	}
	f, ok := asFloat(v)
	if !ok {
		r.typeError("type %s doesn't define __round__ method", typeName(v))
	}
	switch method {
	case "common":
		if i, ok := asInt(v); ok && digits >= 0 {
			return i
		}
		if b, ok := v.(*big.Int); ok {
			return b
		}
		out := roundHalfEven(f, digits)
		if _, ok := v.(float64); !ok {
			return int64(out)
		}
		return out
	case "ceil", "floor":
		digits = min(max(digits, -300), 300)
		scale := math.Pow10(int(digits))
		if method == "ceil" {
			return math.Ceil(f*scale) / scale
		}
		return math.Floor(f*scale) / scale
	}
	r.fail("FilterArgumentError", "method must be common, ceil or floor")
	return nil
}

// roundHalfEven rounds the exact value of f to a decimal place, as Python does.
func roundHalfEven(f float64, digits int64) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) || digits > 330 {
		return f
	}
	if digits >= 0 {
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(digits), 64), 64)
		return out
	}
	if digits < -309 {
		return 0
	}
	scale := math.Pow10(int(-digits))
	return math.RoundToEven(f/scale) * scale
}

func fileSize(f float64, binary bool) string {
	base, names := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if binary {
		base, names = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case f == 1:
		return "1 Byte"
	case f < base:
		return formatInt(int64(f)) + " Bytes"
	}
	i := 0
	unit := base * base
	for f >= unit && i+1 < len(names) {
		unit *= base
		i++
	}
	return strconv.FormatFloat(base*f/unit, 'f', 1, 64) + " " + names[i]
}
