package cpu_test

import (
	"fmt"
	"unsafe"

	"ingot/kernels/cpu"
	"ingot/kernels/quant"
)

// tensors hands out parts of one block of memory, each on a cache line of its own.
type tensors struct {
	*cpu.Memory
	used int64
}

func newTensors() *tensors {
	m, err := cpu.Alloc(1 << 20)
	if err != nil {
		panic(err)
	}
	return &tensors{Memory: m}
}

func (t *tensors) bytes(n int64) unsafe.Pointer {
	at := t.At(t.used)
	t.used += (n + 63) &^ 63
	return at
}

// floats are values in the memory, zeros behind the given ones.
func (t *tensors) floats(n int, values ...float32) (unsafe.Pointer, []float32) {
	p := t.bytes(int64(4 * n))
	s := unsafe.Slice((*float32)(p), n)
	copy(s, values)
	return p, s
}

// sequence is a batch of rows at positions pos0 and on of one sequence.
func sequence(rows, pos0 int) *cpu.Batch {
	b := cpu.NewBatch(rows, 1)
	b.Resize(rows, 0, 1)
	b.Seqs()[0] = cpu.Seq{Rows: int32(rows), Pos0: int32(pos0), PlaneIn: -1} // a recurrent state begins as zero
	for i := range rows {
		b.Pos()[i] = int32(pos0 + i)
	}
	return b
}

// run runs steps on two threads.
func run(b *cpu.Batch, steps ...cpu.Args) {
	p := cpu.NewProgram(cpu.Detect())
	defer p.Free()
	for _, s := range steps {
		if err := p.Add(s); err != nil {
			panic(err)
		}
	}
	team := cpu.NewTeam(2)
	defer team.Close()
	team.Run(p, b)
}

// A product of two rows of activations with a matrix of Q4_K: activations are quantized, then multiplied.
func ExampleMatmul() {
	const m, k, rows = 4, 256, 2
	mem := newTensors()
	defer mem.Free()

	weights := make([]float32, m*k) // row j: j+1 and -(j+1) in turn
	for i := range weights {
		weights[i] = float32(i/k+1) * float32(1-2*(i%2))
	}
	values, size := cpu.Q4_K.Block()
	w := mem.bytes(int64(m * k / values * size))
	if err := quant.Encode(cpu.Detect(), cpu.Q4_K, weights, unsafe.Slice((*byte)(w), m*k/values*size)); err != nil {
		panic(err)
	}
	x, in := mem.floats(rows * k)
	for i := range k {
		in[i] = float32(1 - i%2) // 1 0 1 0 ...
		in[k+i] = 0.5            // meets as many positive as negative weights
	}
	q8 := mem.bytes(rows * cpu.QuantizedRow(k))
	dst, out := mem.floats(rows * m)

	b := sequence(rows, 0)
	defer b.Free()
	run(b,
		&cpu.Quantize{X: x, Q8: q8, Stride: k, Cols: k, Times: 1},
		&cpu.Matmul{W: w, X: q8, Dst: dst, DstStride: m, Type: cpu.Q4_K, M: m, K: k})
	for r := range rows {
		for _, v := range out[r*m : (r+1)*m] {
			fmt.Printf("%5.0f", v+0.01) // no -0
		}
		fmt.Println()
	}
	// Output:
	//   128  256  384  512
	//     0    0    0    0
}

// RMSNorm: each value by the root of the mean square.
func ExampleNorm() {
	mem := newTensors()
	defer mem.Free()
	x, _ := mem.floats(2, 3, 4)
	w, _ := mem.floats(2, 1, 10)
	dst, out := mem.floats(2)
	b := sequence(1, 0)
	defer b.Free()
	run(b, &cpu.Norm{X: x, W: w, Dst: dst, Stride: 2, DStride: 2, Heads: 1, Cols: 2})
	fmt.Printf("%.3f\n", out)
	// Output: [0.849 11.314]
}

// Attention over a cache: three tokens are stored and read as a prompt, then a fourth looks back at the second.
func ExampleAttention() {
	const dim, cells = 32, 8
	mem := newTensors()
	defer mem.Free()
	q, query := mem.floats(3 * dim)
	k, key := mem.floats(3 * dim)
	v, value := mem.floats(3 * dim)
	dst, out := mem.floats(3 * dim)
	kc, vc := mem.bytes(2*cells*dim), mem.bytes(2*cells*dim) // F16, one head
	scratch, _ := mem.floats(2 * cpu.AttentionScratch(1, 1, dim))
	done := mem.bytes(2 * 4 * cpu.AttentionShared)
	store := &cpu.KVStore{K: k, V: v, KC: kc, VC: vc, KStride: dim, VStride: dim, Type: cpu.F16, VType: cpu.F16, Heads: 1, Dim: dim, Cells: cells}
	attend := &cpu.Attention{Q: q, KC: kc, VC: vc, Dst: dst, Scratch: scratch, Done: done, QStride: dim, QGap: dim, DStride: dim,
		Type: cpu.F16, VType: cpu.F16, Heads: 1, KVHeads: 1, Dim: dim, Cells: cells, Scale: 1}

	for i := range 3 { // token i has key i and the value 10, 20, 30; queries of zero see all alike
		key[i*dim+i], value[i*dim] = 1, float32(10*(i+1))
	}
	prompt := sequence(3, 0)
	defer prompt.Free()
	run(prompt, store, attend)
	fmt.Printf("%.1f %.1f %.1f\n", out[0], out[dim], out[2*dim])

	clear(key)
	query[1], value[0] = 50, 40 // in the direction of the second key
	next := sequence(1, 3)
	defer next.Free()
	run(next, store, attend)
	fmt.Printf("%.1f\n", out[0])
	// Output:
	// 10.0 15.0 20.0
	// 20.0
}

// The gated delta rule: a value stored under a key is read by a query of the same direction, divided by the root of the
// head's size.
func ExampleDelta() {
	const dim = 64
	mem := newTensors()
	defer mem.Free()
	qkv, row := mem.floats(3 * dim)
	alpha, _ := mem.floats(1, -50) // softplus of it is 0: nothing is forgotten
	beta, _ := mem.floats(1, 50)   // sigmoid of it is 1: all is written
	zero, _ := mem.floats(1)
	a, _ := mem.floats(1, -1)
	state, _ := mem.floats(dim * dim)
	dst, out := mem.floats(dim)
	row[3], row[dim+3], row[2*dim], row[2*dim+1] = 1, 2, 8, 16 // query, key (normalized), value
	b := sequence(1, 0)
	defer b.Free()
	run(b, &cpu.Delta{QKV: qkv, Alpha: alpha, Beta: beta, DT: zero, A: a, State: state, Dst: dst, Stride: 3 * dim, AStride: 1, BStride: 1,
		DStride: dim, KHeads: 1, VHeads: 1, Dim: dim, Eps: 1e-6})
	fmt.Printf("%.3f\n", out[:3])
	// Output: [1.000 2.000 0.000]
}

// Routing a token to the two best of four experts.
func ExampleRoute() {
	mem := newTensors()
	defer mem.Free()
	logits, _ := mem.floats(4, 1, 3, 2, 0)
	weights, shares := mem.floats(2)
	ids := mem.bytes(8)
	b := sequence(1, 0)
	defer b.Free()
	run(b, &cpu.Route{Logits: logits, IDs: ids, Weights: weights, Stride: 4, Experts: 4, Used: 2, Normalize: 1, Scale: 1})
	fmt.Printf("%d %.3f\n", unsafe.Slice((*int32)(ids), 2), shares)
	// Output: [1 2] [0.731 0.269]
}
