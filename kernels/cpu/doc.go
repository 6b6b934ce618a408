// Package cpu runs Ingot's kernels on the processor: products over packed weights, norms, rope, attention, the
// gated delta net, expert routing. kernels.h is the contract; the generic level (NAME_generic.c) is the plain meaning
// that every other level is checked against. The other levels share their kernels where a vector word means the same
// in each (NAME_simd.h, in the words of simd_LEVEL.h) and have their own where it does not.
//
// The package stands alone: it knows no model and no file format, only tensors in memory outside Go's heap.
//
//	team := cpu.NewTeam(2)                     // threads
//	p := cpu.NewProgram(cpu.Detect())          // steps, built once
//	p.Add(&cpu.Norm{...})                      // one step a kernel, with a barrier after it
//	team.Run(p, batch)                         // all steps, all threads, one call
package cpu
