package live

import (
	"fmt"
	"strconv"
	"time"
)

// Bytes writes a size as people read it: 3.4 GB, 812 MB. Decimal units, as stores and file managers count.
func Bytes(n int64) string {
	if n < 1e3 {
		return fmt.Sprintf("%d B", n)
	}
	return scaled(n, "kB", "MB", "GB", "TB")
}

// Count writes a number of parameters: 4.0 B, 812 M.
func Count(n int64) string {
	if n <= 0 {
		return ""
	}
	return scaled(n, "K", "M", "B", "T")
}

// scaled writes n in whole thousands, or in the largest of the other units that it reaches.
func scaled(n int64, thousand, million, billion, trillion string) string {
	switch {
	case n < 1e6:
		return fmt.Sprintf("%.0f %s", float64(n)/1e3, thousand)
	case n < 1e9:
		return short(float64(n)/1e6) + " " + million
	case n < 1e12:
		return short(float64(n)/1e9) + " " + billion
	}
	return short(float64(n)/1e12) + " " + trillion
}

// Number writes an integer with separators: 32,768.
func Number(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Rate writes tokens a second: 412, 38.5, 4.21.
func Rate(v float64) string {
	switch {
	case v >= 100:
		return Number(int(v + 0.5))
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v > 0:
		return fmt.Sprintf("%.2f", v)
	}
	return "–"
}

// Seconds writes a duration: 0.8 s, 14 s, 2 min 5 s.
func Seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case d > 0 && s < 0.1:
		return fmt.Sprintf("%.0f ms", max(1000*s, 1))
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 60:
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

func short(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
