package cli

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// choice is a flag that takes one of a few words.
type choice struct {
	p  *string
	of []string
}

func (c *choice) String() string {
	if c.p == nil { // package flag asks a zero value
		return ""
	}
	return *c.p
}

func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("expected %s", strings.Join(c.of, ", "))
	}
	*c.p = s
	return nil
}

// oneOf adds a flag that takes one of a few words; the first is the default.
func oneOf(fs *flag.FlagSet, name, usage string, words ...string) *string {
	value := words[0]
	fs.Var(&choice{&value, words}, name, usage+": "+strings.Join(words, ", "))
	return &value
}

// count is a flag that takes a whole number from 0.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("expected a whole number from 0")
	}
	*c = count(n)
	return nil
}
