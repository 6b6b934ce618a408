package plan

// Fitted is what Predict uses. published_test.go fits it anew and says on which measurements, made with MI50 cards. What these do
// not tell is assumed: Hop, 400 MiB for a driver with its compiled kernels, and the shares of a processor, whose rates are the
// best it was ever measured at (of this a model reads some 60%: RESULTS.md).
var Fitted = Constants{
	Stream: 0.626, Compute: 0.3046, Attend: 0.396, Tile: 102, Wire: 0.527,
	Launch: 15.79e-6, Step: 1.996e-6, Reduce: 13.63e-6, Submit: 10.28e-6,
	Hop: 50e-6, Overhead: 400 << 20,
	CPUStream: 0.6, CPUCompute: 0.45, CPUStep: 1e-6,
}
