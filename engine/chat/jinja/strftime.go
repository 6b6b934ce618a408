package jinja

import (
	"fmt"
	"strings"
	"time"
)

// strftime formats t by C's directives in the C locale; one that is not known stays as it is.
func strftime(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		c := format[i]
		plain := false // %-d: without padding
		if c == '-' && i+1 < len(format) {
			i++
			c, plain = format[i], true
		}
		s := directive(c, t)
		if plain && len(s) > 1 {
			if s = strings.TrimLeft(s, "0 "); s == "" {
				s = "0"
			}
		}
		b.WriteString(s)
	}
	return b.String()
}

func directive(c byte, t time.Time) string {
	hour12 := (t.Hour()+11)%12 + 1
	switch c {
	case 'a':
		return t.Format("Mon")
	case 'A':
		return t.Format("Monday")
	case 'b', 'h':
		return t.Format("Jan")
	case 'B':
		return t.Format("January")
	case 'c':
		return t.Format("Mon Jan _2 15:04:05 2006")
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'd':
		return t.Format("02")
	case 'D', 'x':
		return t.Format("01/02/06")
	case 'e':
		return t.Format("_2")
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 'F':
		return t.Format("2006-01-02")
	case 'G':
		year, _ := t.ISOWeek()
		return fmt.Sprint(year)
	case 'H':
		return t.Format("15")
	case 'I':
		return fmt.Sprintf("%02d", hour12)
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'k':
		return fmt.Sprintf("%2d", t.Hour())
	case 'l':
		return fmt.Sprintf("%2d", hour12)
	case 'm':
		return t.Format("01")
	case 'M':
		return t.Format("04")
	case 'n':
		return "\n"
	case 'p':
		return t.Format("PM")
	case 'P':
		return t.Format("pm")
	case 'r':
		return t.Format("03:04:05 PM")
	case 'R':
		return t.Format("15:04")
	case 's':
		return fmt.Sprint(t.Unix())
	case 'S':
		return t.Format("05")
	case 't':
		return "\t"
	case 'T', 'X':
		return t.Format("15:04:05")
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1)
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7)
	case 'V':
		_, week := t.ISOWeek()
		return fmt.Sprintf("%02d", week)
	case 'w':
		return fmt.Sprint(int(t.Weekday()))
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7)
	case 'y':
		return t.Format("06")
	case 'Y':
		return fmt.Sprint(t.Year())
	case 'z', 'Z':
		return "" // Python's local time carries no zone
	case '%':
		return "%"
	}
	return "%" + string(c)
}
