package device

import (
	"ingot/engine/plan"
	"ingot/kernels/gpu"
)

// Described is what the planner must know of a graphics card that need not be here: what Simt.Plan tells of one that is.
func Described(name string, speed float64) plan.Card {
	return plan.Card{Name: name, Speed: speed, QuantRow: func(cols int) int64 { return gpu.QuantizedRow(cols) }, Scratch: simtScratch}
}
