package device

import (
	"os"

	"ingot/engine/plan"
	"ingot/kernels/gpu"
)

// Described is what the planner must know of a graphics card that need not be here: what Simt.Plan tells of one that is.
//
// GGML_CUDA_REPACK_KQUANT_MOE_FUSION=0 in the environment makes the products of a gated unit steps of their own, for diagnosis.
func Described(name string, speed float64) plan.Card {
	return plan.Card{Name: name, Speed: speed, QuantRow: func(cols int) int64 { return gpu.QuantizedRow(cols) }, Scratch: simtScratch,
		Gated: os.Getenv("GGML_CUDA_REPACK_KQUANT_MOE_FUSION") != "0"}
}
