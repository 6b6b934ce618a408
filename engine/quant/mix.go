// Package quant writes a GGUF file anew with its matrices in other types.
//
// A mix says which type each tensor gets: one for most of them, more bits for those that suffer most. The rules are
// those of llama.cpp's llama-quantize without an importance matrix (src/llama-quant.cpp of August 2026), so that a
// name such as Q4_K_M means the same file layout here and there.
package quant

import (
	"fmt"
	"regexp"
	"strings"

	"ingot/engine/tensor"
)

// Mix is a named choice of types for a whole file.
type Mix struct {
	Name     string
	FileType uint32      // general.file_type
	Base     tensor.Type // what most matrices get
}

// The mixes, under their usual names.
var mixes = []Mix{
	{"F32", 0, tensor.F32}, {"F16", 1, tensor.F16}, {"BF16", 32, tensor.BF16},
	{"Q4_0", 2, tensor.Q4_0}, {"Q4_1", 3, tensor.Q4_1}, {"Q5_0", 8, tensor.Q5_0}, {"Q5_1", 9, tensor.Q5_1}, {"Q8_0", 7, tensor.Q8_0},
	{"Q2_K_S", 21, tensor.Q2_K}, {"Q2_K", 10, tensor.Q2_K},
	{"Q3_K_S", 11, tensor.Q3_K}, {"Q3_K_M", 12, tensor.Q3_K}, {"Q3_K_L", 13, tensor.Q3_K},
	{"Q4_K_S", 14, tensor.Q4_K}, {"Q4_K_M", 15, tensor.Q4_K}, {"Q5_K_S", 16, tensor.Q5_K}, {"Q5_K_M", 17, tensor.Q5_K},
	{"Q6_K", 18, tensor.Q6_K}, {"IQ4_NL", 25, tensor.IQ4_NL}, {"IQ4_XS", 30, tensor.IQ4_XS},
	{"MXFP4_MOE", 38, tensor.MXFP4}, // experts; other matrices are Q8_0
	{"MXFP4", 38, tensor.MXFP4},     // not of llama-quantize: every matrix but the output
}

var aliases = map[string]string{"Q3_K": "Q3_K_M", "Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M"}

// MixNames lists what ParseMix reads, but for other names of the same.
func MixNames() []string {
	var names []string
	for _, m := range mixes {
		names = append(names, m.Name)
	}
	return names
}

// ParseMix returns the mix of that name, in any case; Q3_K, Q4_K and Q5_K are their _M.
func ParseMix(name string) (Mix, error) {
	upper := strings.ToUpper(name)
	if full, ok := aliases[upper]; ok {
		upper = full
	}
	for _, m := range mixes {
		if m.Name == upper {
			return m, nil
		}
	}
	return Mix{}, fmt.Errorf("unknown type %q: expected one of %s", name, strings.Join(MixNames(), ", "))
}

// Override gives a type to the tensors whose names match.
type Override struct {
	Pattern *regexp.Regexp
	Type    tensor.Type
}
