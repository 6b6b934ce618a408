// Package cpu runs Ingot's kernels on the processor: products over packed weights, norms, rope, attention, the
// gated delta net, expert routing. kernels.h is the contract; a C file holds one operation family at one
// instruction-set level, and the generic level is the plain meaning every other level is checked against.
//
// The package stands alone: it knows no model and no file format, only tensors in memory outside Go's heap.
//
//	team := cpu.NewTeam(2)                     // threads
//	p := cpu.NewProgram(cpu.Detect())          // steps, built once
//	p.Add(&cpu.Norm{...})                      // one step a kernel, with a barrier after it
//	team.Run(p, batch)                         // all steps, all threads, one call
package cpu
