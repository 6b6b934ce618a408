package gpu

import "fmt"

// Arguments of args_layers.h. Launch methods take the most rows of a batch that the launch is for: those whose logits are
// wanted where Rows says so.

// Whether a kernel works on every row of the batch, or on those whose logits are wanted.
const (
	AllRows = 0
	OutRows = 1
)

// NormArgs mirror norm_args: RMSNorm of each head, times a weight and silu of a gate where set.
type NormArgs struct {
	Batch, X, W, Gate, Dst              Ptr
	Stride, Gap, DStride, DGap, GStride int64
	Heads, Cols, Rows                   int32
	Eps                                 float32
}

// Launch normalizes up to so many rows.
func (a NormArgs) Launch(_ Card, rows int) (Launch, error) {
	m := Module{File: "norm.gpu"}
	l := launch(m, "norm_wide", int(a.Heads), rows, 1, &a)
	if a.Heads > 1 && a.Cols <= 512 {
		l = launch(m, "norm_heads", over(int(a.Heads), m.Threads()/32), rows, 1, &a)
	}
	return l, l.fits()
}

// RopeArgs mirror rope_args: turns pairs of each head by their row's position, in place. Freq is float64 [Rot/2].
type RopeArgs struct {
	Batch, X, Freq   Ptr
	Stride, Gap      int64
	Heads, Rot, Neox int32
	Mag              float32
}

// Launch turns up to so many rows.
func (a RopeArgs) Launch(_ Card, rows int) (Launch, error) {
	return columns(Module{File: "rope.gpu"}, "rope", a.Heads*a.Rot/2, rows, 1, &a)
}

// KVStoreArgs mirror kv_store_args: K and V of each row go to cell pos of its slot. A cache is [slot][kv head][cell][Dim] of
// Type (keys) or VType (values), which are of CacheTypes, in the blocks of GGUF.
type KVStoreArgs struct {
	Batch, K, V, KC, VC Ptr
	KStride, VStride    int64
	Type, VType         Type
	Heads, Dim, Cells   int32
	_                   int32
}

// Launch stores up to so many rows.
func (a KVStoreArgs) Launch(_ Card, rows int) (Launch, error) {
	if err := cached(int(a.Dim), a.Type, a.VType); err != nil {
		return Launch{}, err
	}
	return columns(Module{File: "kv_store.gpu"}, "kv_store", a.Heads*a.Dim, rows, 2, &a)
}

// ConvArgs mirror conv_args: a causal depthwise convolution, then silu. State is [plane][Width-1][Cols], oldest first; W is
// [Width][Cols].
type ConvArgs struct {
	Batch, X, W, State, Dst Ptr
	Stride, DStride         int64
	Cols, Width             int32
}

// Launch convolves up to so many rows of so many sequences.
func (a ConvArgs) Launch(_ Card, rows, seqs int) (Launch, error) {
	if a.Width < 1 || a.Width > 8 {
		return Launch{}, fmt.Errorf("a convolution of %d taps, where 1 to 8 are possible", a.Width)
	}
	return columns(Module{File: "conv.gpu"}, "conv", a.Cols, rows/32+seqs, 1, &a)
}

// DeltaArgs mirror delta_args. State is [plane][VHeads][Dim values][Dim keys], kernels/cpu's matrices turned.
type DeltaArgs struct {
	Batch, QKV, Alpha, Beta, DT, A, State, Dst Ptr
	Stride, AStride, BStride, DStride          int64
	KHeads, VHeads                             int32
	Eps                                        float32
	_                                          int32
}

// Delta is the gated delta rule along each sequence.
type Delta struct {
	DeltaArgs
	Dim int // a multiple of 4
}

// Launch goes along up to so many sequences.
func (a Delta) Launch(_ Card, seqs int) (Launch, error) {
	if a.Dim%4 != 0 || a.Dim < 4 || a.Dim > 256 {
		return Launch{}, fmt.Errorf("a delta net of heads of %d, where multiples of 4 up to 256 are possible", a.Dim)
	}
	m := Module{File: "delta.gpu", Defines: fmt.Sprintf("DIM=%d", a.Dim)}
	l := launch(m, "delta", over(a.Dim, m.Threads()/8), int(a.VHeads), seqs, &a.DeltaArgs)
	return l, l.fits()
}

// GLUArgs mirror glu_args: Act(Gate) * Up, Times rows for each row of the batch. Act is 0 silu, 1 gelu, 2 that of gpt-oss.
type GLUArgs struct {
	Batch, Gate, Up, Dst      Ptr
	GStride, UStride, DStride int64
	Cols, Act, Rows, Times    int32
}

// Launch makes Times rows of each of up to so many.
func (a GLUArgs) Launch(_ Card, rows int) (Launch, error) {
	return columns(Module{File: "rows.gpu"}, "glu", a.Cols, rows*int(a.Times), 1, &a)
}

// AddArgs mirror add_args: Scale*X + Y, then through Cap*tanh(x/Cap) where Cap > 0. Y may be 0. Factor, where set, is one float that
// multiplies Scale.
type AddArgs struct {
	Batch, X, Y, Factor, Dst  Ptr
	XStride, YStride, DStride int64
	Cols, Rows                int32
	Scale, Cap                float32
}

// Launch adds up to so many rows.
func (a AddArgs) Launch(_ Card, rows int) (Launch, error) {
	return columns(Module{File: "rows.gpu"}, "add", a.Cols, rows, 1, &a)
}

// ZeroArgs mirror zero_args: zeros in Times rows for each row of the batch.
type ZeroArgs struct {
	Batch, Dst           Ptr
	DStride              int64
	Cols, Rows, Times, _ int32
}

// Launch clears Times rows for each of up to so many.
func (a ZeroArgs) Launch(_ Card, rows int) (Launch, error) {
	return columns(Module{File: "rows.gpu"}, "zero", a.Cols, rows*int(a.Times), 1, &a)
}

// GatherArgs mirror gather_args: the rows whose logits are wanted.
type GatherArgs struct {
	Batch, X, Dst   Ptr
	Stride, DStride int64
	Cols, _         int32
}

// Launch gathers up to so many rows.
func (a GatherArgs) Launch(_ Card, outs int) (Launch, error) {
	return columns(Module{File: "rows.gpu"}, "gather", a.Cols, outs, 1, &a)
}

// RouteArgs mirror route_args: the Used best experts of each row by their logits, or where Bias is set by their probabilities plus
// Bias. IDs is int32 [rows][Used], Weights [rows][Used]; Bias and Factors may be 0.
type RouteArgs struct {
	Batch, Logits, Bias, Factors, IDs, Weights Ptr
	Stride                                     int64
	Experts, Used, Normalize, Sigmoid          int32
	Scale                                      float32
	_                                          int32
}

// Launch routes up to so many rows.
func (a RouteArgs) Launch(_ Card, rows int) (Launch, error) {
	if a.Experts > 1024 || a.Used < 1 || a.Used > a.Experts {
		return Launch{}, fmt.Errorf("%d of %d experts used, where 1024 are possible", a.Used, a.Experts)
	}
	m := Module{File: "route.gpu"}
	l := launch(m, "route", over(rows, m.Threads()/32), 1, 1, &a)
	return l, l.fits()
}

// CombineArgs mirror combine_args: experts' rows by their weights, a shared expert's and another row where set.
type CombineArgs struct {
	Batch, Y, Weights, Shared, SGate, Add, Dst Ptr
	YStride, SStride, AddStride, DStride       int64
	Cols, Used                                 int32
}

// Launch combines up to so many rows.
func (a CombineArgs) Launch(_ Card, rows int) (Launch, error) {
	return columns(Module{File: "rows.gpu"}, "combine", a.Cols, rows, 1, &a)
}

// TopKArgs mirror top_k_args: the best logits of each wanted row with their indices, as many as the batch says and up to K, and the
// row's log(sum(exp(x - max(x)))). Parts holds TopKParts floats, Dst TopKResult; Groups and Outs are chosen by Launch.
type TopKArgs struct {
	Batch, X, Parts, Dst  Ptr
	Stride                int64
	Cols, K, Groups, Outs int32
}

// What a row has at most for TopKArgs, and what is taken of it.
const (
	MaxTopK    = 128
	MaxTopCols = topKGroupsMost * 8192
)

const topKGroupsMost = 64 // TOP_K_GROUPS

// TopKParts is the floats of Parts for so many rows at most.
func TopKParts(outs, cols, k int) int { return outs * topKGroups(cols) * 2 * (k + 1) }

// TopKResult is the floats of Dst for so many rows.
func TopKResult(outs, k int) int { return outs * (1 + 2*k) }

// topKGroups is the stretches of a row, of 4096 values where that is enough.
func topKGroups(cols int) int { return min(topKGroupsMost, over(cols, 4096)) }

// Launch returns the two kernels, one after the other, for up to so many rows.
func (a TopKArgs) Launch(_ Card, outs int) ([]Launch, error) {
	m := Module{File: "top_k.gpu"}
	a.Groups, a.Outs = int32(topKGroups(int(a.Cols))), int32(outs)
	if a.K < 1 || a.K > MaxTopK || a.Cols < 1 || a.Cols > MaxTopCols {
		return nil, fmt.Errorf("the %d best of %d values", a.K, a.Cols)
	}
	parts, best := launch(m, "top_k_parts", int(a.Groups), outs, 1, &a), launch(m, "top_k", outs, 1, 1, &a)
	return []Launch{parts, best}, parts.fits()
}

// columns is a launch of a thread a column.
func columns[T any](m Module, entry string, cols int32, y, z int, args *T) (Launch, error) {
	l := launch(m, entry, over(int(cols), m.Threads()), y, z, args)
	return l, l.fits()
}
