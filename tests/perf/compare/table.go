package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// results are the speeds of every run.
type results struct {
	tests    []test                              // in order of first appearance
	speeds   map[test]map[string]map[int]float64 // by program and round
	failures []string
}

func (r *results) add(program string, round int, rows []row, err error) {
	if err != nil {
		r.failures = append(r.failures, fmt.Sprintf("%s, round %d: %v", program, round+1, err))
		return
	}
	if r.speeds == nil {
		r.speeds = map[test]map[string]map[int]float64{}
	}
	for _, row := range rows {
		if r.speeds[row.test] == nil {
			r.tests = append(r.tests, row.test)
			r.speeds[row.test] = map[string]map[int]float64{}
		}
		if r.speeds[row.test][program] == nil {
			r.speeds[row.test][program] = map[int]float64{}
		}
		r.speeds[row.test][program][round] = row.speed
	}
}

// ratios are the first program's speed by another's, in each round that both ran in.
func (r *results) ratios(t test, first, other string) []float64 {
	var list []float64
	for _, round := range rounds(r.speeds[t][first]) {
		if v := r.speeds[t][other][round]; v > 0 {
			list = append(list, r.speeds[t][first][round]/v)
		}
	}
	return list
}

func rounds(m map[int]float64) []int {
	var list []int
	for i := range m {
		list = append(list, i)
	}
	slices.Sort(list)
	return list
}

func values(m map[int]float64) []float64 {
	var list []float64
	for _, i := range rounds(m) {
		list = append(list, m[i])
	}
	return list
}

// median is the middle value, or the mean of the two in the middle.
func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// summary is the median with the least and the greatest.
func summary(x []float64) string {
	if len(x) == 0 {
		return "-"
	}
	if len(x) == 1 {
		return fmt.Sprintf("%.2f", x[0])
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(x), slices.Min(x), slices.Max(x))
}

// print writes the table of medians and ratios, then every run, then what failed.
func (r *results) print(w io.Writer, names []string) {
	head, rule := "| test |", "| --- |"
	for i, name := range names {
		head, rule = head+" "+name+" t/s |", rule+" ---: |"
		if i > 0 {
			head, rule = head+" "+names[0]+" / "+name+" |", rule+" ---: |"
		}
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, t := range r.tests {
		fmt.Fprintf(w, "| %v |", t)
		for i, name := range names {
			fmt.Fprintf(w, " %s |", summary(values(r.speeds[t][name])))
			if i > 0 {
				fmt.Fprintf(w, " %s |", summary(r.ratios(t, names[0], name)))
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "\nMedians (least to greatest). Every run, round by round:")
	fmt.Fprintln(w)
	for _, t := range r.tests {
		for _, name := range names {
			var list []string
			for _, v := range values(r.speeds[t][name]) {
				list = append(list, fmt.Sprintf("%.2f", v))
			}
			if len(list) > 0 {
				fmt.Fprintf(w, "- %v, %s: %s\n", t, name, strings.Join(list, " "))
			}
		}
	}
	for _, f := range r.failures {
		fmt.Fprintf(w, "- failed: %s\n", f)
	}
}
