package cpu

// #include "team.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
)

// Level is an instruction-set level. On one architecture a higher level is preferred.
type Level int32

// The levels; the numbers are those of kernels.h.
const (
	Generic Level = iota // plain C
	AVX2                 // AVX2, FMA, F16C
	AVX512               // AVX-512 F, BW, VL, DQ and VNNI
	AMX                  // AVX512 with BF16, and AMX tiles of bf16
	NEON                 // of arm64, with dotprod
	I8MM                 // NEON with products of 8-bit matrices
)

// ErrLevel is returned when a level's name is unknown or this machine cannot run it.
var ErrLevel = errors.New("no such instruction-set level here")

var levelNames = [...]string{Generic: "generic", AVX2: "avx2", AVX512: "avx512", AMX: "amx", NEON: "neon", I8MM: "i8mm"}

// String returns the name that ParseLevel reads.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return fmt.Sprintf("level %d", int32(l))
	}
	return levelNames[l]
}

// Levels lists the levels that this processor and operating system run, lowest first.
func Levels() []Level {
	var ls []Level
	for l := range levelNames {
		if C.ig_supported(C.int(l)) != 0 {
			ls = append(ls, Level(l))
		}
	}
	return ls
}

// emulateTiles lets the AMX level run where only the tiles are missing: their instructions become plain C. It is for
// tests, this package's own and those of a build with the tag emulate_amx; nothing runs while it changes. It returns
// what was before.
func emulateTiles(on bool) (was bool) {
	was = C.ig_amx_emulated != 0
	C.ig_amx_emulated = 0
	if on {
		C.ig_amx_emulated = 1
	}
	return was
}

// Detect returns the highest level that this processor and operating system run.
func Detect() Level {
	ls := Levels()
	return ls[len(ls)-1]
}

// ParseLevel returns the level of that name, in any case; the empty name and "auto" mean Detect.
// The name usually comes from INGOT_CPU, which the caller reads. The error wraps ErrLevel.
func ParseLevel(name string) (Level, error) {
	if name == "" || strings.EqualFold(name, "auto") {
		return Detect(), nil
	}
	here := Levels()
	for l, n := range levelNames {
		if !strings.EqualFold(n, name) {
			continue
		}
		for _, h := range here {
			if h == Level(l) {
				return h, nil
			}
		}
		return 0, fmt.Errorf("%w: this machine does not run %s; it runs %s", ErrLevel, n, strings.Trim(strings.ReplaceAll(fmt.Sprint(here), " ", ", "), "[]"))
	}
	return 0, fmt.Errorf("%w: %q is none of %s", ErrLevel, name, strings.Join(levelNames[:], ", "))
}
