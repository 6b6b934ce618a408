package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// wordList is a flag that takes several words, by commas or given again.
type wordList []string

func (l *wordList) String() string { return strings.Join(*l, ",") }

func (l *wordList) Set(s string) error {
	*l = append(*l, strings.Split(s, ",")...)
	return nil
}

// intList is a flag that takes several numbers and ranges: 1,2,4 or 1-4 or 0-512+128 or 1-8*2.
type intList []int

func (l intList) or(otherwise int) []int {
	if len(l) == 0 {
		return []int{otherwise}
	}
	return l
}

func (l *intList) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*l)), " ", ","), "[]")
}

const mostValues = 10000 // of one list; more is a typing error

func (l *intList) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		first, last, step, times, err := parseRange(word)
		if err != nil {
			return err
		}
		for n := first; n <= last; n = n*times + step {
			if *l = append(*l, n); len(*l) > mostValues {
				return fmt.Errorf("%q has too many values", s)
			}
			if n*times+step <= n {
				break
			}
		}
	}
	return nil
}

// parseRange reads N, FIRST-LAST, FIRST-LAST+STEP or FIRST-LAST*TIMES.
func parseRange(word string) (first, last, step, times int, err error) {
	bad := fmt.Errorf("%q is neither a number nor a range such as 0-512+128", word)
	step, times = 1, 1
	from, to, ranged := strings.Cut(word, "-")
	if word == "" || !ranged || from == "" { // -1 is a number
		first, err = strconv.Atoi(word)
		if err != nil {
			return 0, 0, 0, 0, bad
		}
		return first, first, step, times, nil
	}
	end := to
	if i := strings.IndexAny(to, "+*"); i >= 0 {
		n, err := strconv.Atoi(to[i+1:])
		if err != nil || n < 1 {
			return 0, 0, 0, 0, bad
		}
		if end = to[:i]; to[i] == '+' {
			step = n
		} else {
			step, times = 0, n
		}
	}
	if first, err = strconv.Atoi(from); err == nil {
		last, err = strconv.Atoi(end)
	}
	if err != nil || last < first {
		return 0, 0, 0, 0, bad
	}
	return first, last, step, times, nil
}

// pairList is a flag that takes two numbers; it may be given again.
type pairList [][2]int

func (l *pairList) String() string {
	var words []string
	for _, p := range *l {
		words = append(words, fmt.Sprintf("%d,%d", p[0], p[1]))
	}
	return strings.Join(words, " ")
}

func (l *pairList) Set(s string) error {
	a, b, ok := strings.Cut(s, ",")
	p, errA := strconv.Atoi(a)
	g, errB := strconv.Atoi(b)
	if !ok || errA != nil || errB != nil || p < 0 || g < 0 {
		return fmt.Errorf("%q is not two numbers such as 512,128", s)
	}
	*l = append(*l, [2]int{p, g})
	return nil
}
