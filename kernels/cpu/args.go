package cpu

// #include "kernels.h"
import "C"

import "unsafe"

// Op is an operation of kernels.h.
type Op int32

// The operations, in the order of enum ig_op.
const (
	OpEmbed Op = iota
	OpQuantize
	OpMatmul
	OpExperts
	OpNorm
	OpRope
	OpKVStore
	OpAttention
	OpConv
	OpDelta
	OpGLU
	OpRoute
	OpCombine
	OpGather
	OpAdd
	OpRepack
	OpZero
	OpAllReduce
	OpAllGather
)

var opNames = [...]string{"embed", "quantize", "matmul", "experts", "norm", "rope", "kv_store", "attention", "conv",
	"delta", "glu", "route", "combine", "gather", "add", "repack", "zero", "allreduce", "allgather"}

// String returns the operation's name.
func (o Op) String() string { return opNames[o] }

// Args are the arguments of one step: a pointer to one of the structs of this file, which mirror those of kernels.h.
// Every pointer in them is to memory outside Go's heap, of an extent the C header gives, and owned by the caller for
// as long as the program runs. Strides and gaps count floats. The number of rows is the batch's.
type Args interface{ op() Op }

// Rows says how many rows a step works on.
type Rows int32

// The row counts of enum ig_rows.
const (
	AllRows Rows = iota // every row of the batch
	OutRows             // the rows whose logits are wanted
)

// Act is the activation of a GLU.
type Act int32

// The activations.
const (
	SiLU      Act = iota
	GELU          // the tanh form
	SwiGLUOAI     // of gpt-oss: with g = min(Gate, 7) and u = max(-7, min(Up, 7)), g * sigmoid(1.702*g) * (u+1)
)

// Embed: Dst[r][:] = Scale * row token[r] of W (Vocab rows of Cols).
type Embed struct {
	W, Dst      unsafe.Pointer
	Stride      int64
	Type        Type
	Cols, Vocab int32
	Repacked    int32 // 1: W is what Repack left
	Scale       float32
}

// Quantize: Q8[r] = X[r] in the row format of integer products; a row takes QuantizedRow(Cols) bytes.
type Quantize struct {
	X, Q8  unsafe.Pointer
	Stride int64
	Cols   int32
	Rows   Rows
	Times  int32 // rows for each row of the batch: 1, or the experts a token uses
	// Residual 1: values have 16 bits, 254*high + low; the row holds the highs, and one with the lows follows it.
	Residual int32
}

// Matmul: Dst[r][j] = sum over i of W[j][i]*X[r][i], plus Bias[j] and Add[r][j] where set; W has M rows of K.
// X is f32 for F32, F16 and BF16 weights and quantized rows for every other type. Add may be Dst.
type Matmul struct {
	W, X, Dst            unsafe.Pointer
	Bias, Add            unsafe.Pointer `cpu:"optional"`
	XStride              int64          // of f32 X; quantized rows are contiguous
	DstStride, AddStride int64
	Type                 Type
	M, K                 int32
	Rows                 Rows
	Residual             int32 // 1: quantized rows have their residual behind them
	Repacked             int32 // 1: W is what Repack left
}

// Experts: for row r and each of its Used experts e = IDs[r*Used+s]: Dst[r*Used+s] = W[e] times a row of X, which is
// row r, or row r*Used+s where PerSlot is 1, plus row e of Bias where set. W is Experts matrices of M rows of K, Bias
// is f32 [Experts][M].
type Experts struct {
	W, X, Dst, IDs         unsafe.Pointer
	Bias                   unsafe.Pointer `cpu:"optional"`
	XStride, DstStride     int64
	Type                   Type
	M, K                   int32
	Experts, Used, PerSlot int32
	Residual               int32
	Repacked               int32 // 1: each expert's matrix is what Repack left of it
}

// Norm: Dst = X / sqrt(mean(X²)+Eps) * W over each of Heads groups of Cols values, Gap floats apart in X and DGap in
// Dst; then times silu(Gate) where set. W nil: ones. Dst may be X.
type Norm struct {
	X                                   unsafe.Pointer
	W, Gate                             unsafe.Pointer `cpu:"optional"`
	Dst                                 unsafe.Pointer
	Stride, Gap, DStride, DGap, GStride int64
	Heads, Cols                         int32
	Rows                                Rows
	Eps                                 float32
}

// Rope turns pair i of the first Rot values of each head by pos*Freq[i], in place; the pair is (i, i+Rot/2) where
// Neox is 1, otherwise (2i, 2i+1). Freq is float64 [Rot/2].
type Rope struct {
	X, Freq          unsafe.Pointer
	Stride, Gap      int64
	Heads, Rot, Neox int32
	Mag              float32
}

// KVStore writes K and V of each row to cell pos of its slot. A cache is [slot][kv head][cell][Dim] of Type (keys) or
// VType (values): F32, F16, BF16, or Q8_0 and Q4_0, for which Dim is a multiple of 32.
type KVStore struct {
	K, V, KC, VC     unsafe.Pointer
	KStride, VStride int64
	Type, VType      Type
	Heads, Dim       int32
	Cells            int32 // a slot's, a head
}

// Attention: causal attention of each row over its slot's cells, grouped-query; Window and Cap 0: none. Gate, where
// set, multiplies by sigmoid. Sinks, where set, is f32 [Heads]: exp(Sinks[h]) is added to what the exponentials of head h's
// scores are divided by, and nothing to what they weigh; Scale and Cap do not change it. Scratch: AttentionScratch floats a thread of the team; Done: AttentionShared uint32 a
// thread, zero before the first run. Programs that do not run at once may share both.
type Attention struct {
	Q, KC, VC                             unsafe.Pointer
	Gate, Sinks                           unsafe.Pointer `cpu:"optional"`
	Dst, Scratch, Done                    unsafe.Pointer
	QStride, QGap, GStride, GGap, DStride int64
	Type, VType                           Type // of keys, of values
	Heads, KVHeads, Dim, Cells, Window    int32
	Scale, Cap                            float32
}

// Conv: causal depthwise convolution of Width taps over each sequence, then silu. State is [plane][Width-1][Cols],
// oldest first; W is [Width][Cols].
type Conv struct {
	X, W, State, Dst unsafe.Pointer
	Stride, DStride  int64
	Cols, Width      int32
}

// Delta: the gated delta rule (arXiv 2412.06464) along each sequence. QKV row: q[KHeads][Dim] k[KHeads][Dim]
// v[VHeads][Dim]; Alpha and Beta rows, DT and A: [VHeads]; State [plane][VHeads][Dim*Dim], in the
// order of ig_delta_at.
type Delta struct {
	QKV, Alpha, Beta, DT, A, State, Dst unsafe.Pointer
	Stride, AStride, BStride, DStride   int64
	KHeads, VHeads, Dim                 int32
	Eps                                 float32
}

// GLU: Dst = Act(Gate) * Up over Cols (SwiGLUOAI: as its own comment says), Times rows for each row of the batch. Dst may be Gate.
type GLU struct {
	Gate, Up, Dst             unsafe.Pointer
	GStride, UStride, DStride int64
	Cols                      int32
	Act                       Act
	Rows                      Rows
	Times                     int32
}

// Route: probabilities p of Experts logits, their softmax or, where Sigmoid is 1, the sigmoid of each; then the Used best
// with their probabilities, best first and of equals the lower number first. The best have the largest logits or, where
// Bias is set, the largest p[e] + Bias[e]; what is returned is p without it. Normalize 1: divided by their sum, at least
// 2^-14; then times Scale; then, where Factors is set, times Factors[e]. IDs is int32 [rows][Used], Weights [rows][Used],
// Bias and Factors f32 [Experts].
type Route struct {
	Logits                            unsafe.Pointer
	Bias, Factors                     unsafe.Pointer `cpu:"optional"`
	IDs, Weights                      unsafe.Pointer
	Stride                            int64
	Experts, Used, Normalize, Sigmoid int32
	Scale                             float32
}

// Combine: Dst[r] = Add[r] + sum over s of Weights[r*Used+s]*Y[r*Used+s] + sigmoid(SGate[r])*Shared[r]; Add, SGate and
// Shared may be nil. Dst may be Add.
type Combine struct {
	Y, Weights                           unsafe.Pointer
	Shared, SGate, Add                   unsafe.Pointer `cpu:"optional"`
	Dst                                  unsafe.Pointer
	YStride, SStride, AddStride, DStride int64
	Cols, Used                           int32
}

// Gather: Dst[o] = X[out[o]], for the rows whose logits are wanted.
type Gather struct {
	X, Dst          unsafe.Pointer
	Stride, DStride int64
	Cols            int32
}

// Add: Dst = Scale*X + Y, then through Cap*tanh(Dst/Cap) where Cap > 0. Y may be nil; Dst may be X or Y. Factor, where
// set, is one f32 that multiplies Scale.
type Add struct {
	X                         unsafe.Pointer
	Y, Factor                 unsafe.Pointer `cpu:"optional"`
	Dst                       unsafe.Pointer
	XStride, YStride, DStride int64
	Cols                      int32
	Rows                      Rows
	Scale, Cap                float32
}

// Repack: Dst = the matrix Src of M rows of K in the order that products work in: the same size, the same bits. Types
// that have no such order (Type.Repacks) are copied.
type Repack struct {
	Src, Dst unsafe.Pointer
	M        int64
	Type     Type
	K        int32
}

// Zero: Dst[r][:] = 0.
type Zero struct {
	Dst     unsafe.Pointer
	DStride int64
	Cols    int32
	Rows    Rows
}

// AllReduce: Dst = the sum of X over the lanes of the exchange, in their order, plus Add where set. Every lane runs the
// same such steps in the same order on the same rows. Dst may be X or Add.
type AllReduce struct {
	Exchange, X                 unsafe.Pointer
	Add                         unsafe.Pointer `cpu:"optional"`
	Dst                         unsafe.Pointer
	XStride, AddStride, DStride int64
	Lane, Cols                  int32
	Rows                        Rows
}

// AllGather: columns From[l] to From[l+1]-1 of Dst = X of lane l, for each lane; X is nil where this lane has none. From is
// int32 [lanes+1]; Times rows for each row of the batch. As with AllReduce, the steps of all lanes correspond.
type AllGather struct {
	Exchange         unsafe.Pointer
	X                unsafe.Pointer `cpu:"optional"`
	Dst, From        unsafe.Pointer
	XStride, DStride int64
	Lane             int32
	Rows             Rows
	Times            int32
}

func (a *Embed) op() Op     { return OpEmbed }
func (a *Quantize) op() Op  { return OpQuantize }
func (a *Matmul) op() Op    { return OpMatmul }
func (a *Experts) op() Op   { return OpExperts }
func (a *Norm) op() Op      { return OpNorm }
func (a *Rope) op() Op      { return OpRope }
func (a *KVStore) op() Op   { return OpKVStore }
func (a *Attention) op() Op { return OpAttention }
func (a *Conv) op() Op      { return OpConv }
func (a *Delta) op() Op     { return OpDelta }
func (a *GLU) op() Op       { return OpGLU }
func (a *Route) op() Op     { return OpRoute }
func (a *Combine) op() Op   { return OpCombine }
func (a *Gather) op() Op    { return OpGather }
func (a *Add) op() Op       { return OpAdd }
func (a *Repack) op() Op    { return OpRepack }
func (a *Zero) op() Op      { return OpZero }
func (a *AllReduce) op() Op { return OpAllReduce }
func (a *AllGather) op() Op { return OpAllGather }

// AttentionShared is how many tiles of an Attention step a thread may share with others.
const AttentionShared = C.IG_ATTENTION_SHARED

// KVCacheType tells whether a KV cache may be of that type.
func KVCacheType(t Type) bool { return C.ig_kv_row(C.int32_t(t), 32) > 0 }

// AttentionScratch returns the floats of scratch that one thread needs for an Attention step.
func AttentionScratch(heads, kvHeads, dim int) int {
	return int(C.ig_attention_scratch(C.int32_t(heads), C.int32_t(kvHeads), C.int32_t(dim)))
}
