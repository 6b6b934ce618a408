package gpu

import "fmt"

// QuantizedRow returns the bytes of a row of k activations quantized for integer products; k is a multiple of 32.
func QuantizedRow(k int) int64 { return (int64(k) + int64(k)/4 + 63) / 64 * 64 }

// QuantizeArgs mirror quantize_args: Q8[r] = X[r] quantized.
type QuantizeArgs struct {
	Batch, X, Q8                Ptr
	Stride                      int64
	Cols, Rows, Times, Residual int32
}

// Launch quantizes up to so many rows, Times for each row of the batch.
func (a QuantizeArgs) Launch(_ Card, rows int) (Launch, error) {
	if a.Cols%32 != 0 || a.Cols < 32 {
		return Launch{}, fmt.Errorf("quantize rows of %d values, which are no whole chunks of 32", a.Cols)
	}
	m := Module{File: "quantize.gpu"}
	l := launch(m, "quantize", over(int(a.Cols)/4, m.Threads()), rows*int(a.Times), 1, &a)
	return l, l.fits()
}

// MatmulArgs mirror matmul_args: Dst[r][j] = sum over i of W[j][i]*X[r][i], plus Bias[j] and Add[r][j] where set.
type MatmulArgs struct {
	Batch, W, Up, X, Dst, Bias, UpBias, Add Ptr   // all but Batch, X, Dst may be 0
	XStride, DStride, AddStride             int64 // floats; XStride: bytes, set by Launch for quantized rows
	M, K, Rows, Residual                    int32
	Lanes, Act                              int32 // Lanes: chosen by Launch
}

// Matmul is a product of a packed, repacked or plain matrix. With Up set, it is the gated unit Act (0 silu, 1 gelu, 2 that of gpt-oss)
// of W x + Bias and Up x + UpBias, both matrices of one shape and type; where W is 0, of what Dst holds and the latter.
type Matmul struct {
	MatmulArgs
	Type     Type
	Repacked bool
}

// Launch multiplies up to so many rows.
func (a Matmul) Launch(c Card, rows int) ([]Launch, error) {
	weight, err := a.Type.weight(int(a.M), int(a.K), a.Repacked)
	if err != nil {
		return nil, err
	}
	vectors := rows
	if !a.Type.plain() {
		a.XStride = QuantizedRow(int(a.K)) * int64(1+a.Residual)
		vectors *= 1 + int(a.Residual)
	}
	if rows > Narrow {
		return inTurn(a.W, a.Up, func(w, up Ptr) (Launch, error) {
			b := a
			b.W, b.Up = w, up
			return b.prompt(c, weight, vectors)
		})
	}
	n := 1
	for n < vectors && n < 8 {
		n *= 2
	}
	m, family := vecModule("mat_vec", a.Type, weight, n), "mat_vec"
	if a.Up != 0 {
		family = "gated_vec"
	}
	if !a.Type.plain() {
		m.Defines += gatedDefine(a.Up != 0)
	}
	a.Lanes = lanes(c, int(a.M), steps(a.Type, int(a.K)), over(vectors, n))
	l := launch(m, fmt.Sprintf("%s_%s_%d", family, weight, n), over(int(a.M)<<a.Lanes, m.Threads()), over(vectors, n), 1, &a.MatmulArgs)
	return []Launch{l}, l.fits()
}

// inTurn is the launches of one matrix, or of each of a gated unit's two: the second reads what the first left.
func inTurn(w, up Ptr, of func(w, up Ptr) (Launch, error)) (list []Launch, err error) {
	for _, m := range [2][2]Ptr{{w, 0}, {0, up}} {
		if m == [2]Ptr{} {
			continue
		}
		l, err := of(m[0], m[1])
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

func gatedDefine(both bool) string {
	if both {
		return " GATED=1"
	}
	return " GATED=0"
}

// vecModule is the module of a mat-vec kernel for n vectors.
func vecModule(family string, t Type, weight string, n int) Module {
	if t.plain() {
		return Module{File: "mat_vec_plain.gpu", Weight: weight}
	}
	return Module{File: family + ".gpu", Weight: weight, Defines: fmt.Sprintf("VECTORS=%d", n)}
}

// steps is how many pieces, each a lane's work at a time, a row of k values has.
func steps(t Type, k int) int {
	switch t {
	case F32:
		return over(k, 4)
	case F16, BF16:
		return over(k, 8)
	}
	return k / 32
}

// lanes chooses how many lanes share a row of so many steps, as a power of two. More lanes make more waves, of which a card needs
// four for each of a unit's four schedulers to keep enough reads under way; fewer leave each lane more than one step, so that a
// read can overlap with work, and less to sum up.
func lanes(c Card, m, steps, times int) int32 {
	bits := int32(3)
	for 1<<bits < c.Wave && 1<<bits < steps && (m*times<<bits < 16*c.Units*c.Wave || steps > 16<<bits) {
		bits++
	}
	return bits
}

// ExpertsArgs mirror experts_args: Dst[r*Used+s] = W[e] times a row of X, e = IDs[r*Used+s].
type ExpertsArgs struct {
	Batch, W, Up, X, Dst, Bias, UpBias, IDs Ptr   // Up, Bias, UpBias: may be 0
	Order                                   Ptr   // OrderBytes of room; 0 where there are never more than Narrow rows
	WStride, XStride, DStride               int64 // WStride: set by Launch; XStride: bytes, set by Launch for quantized rows
	M, K, Experts, Used                     int32
	PerSlot, Residual                       int32
	Lanes, Act                              int32 // Lanes: chosen by Launch
	Of, _                                   int32 // rows of a matrix; 0: M
}

// Experts is a product with the experts each token uses. With Up set, it is the gated unit Act (0 silu, 1 gelu, 2 that of gpt-oss)
// of W x + Bias and Up x + UpBias; both matrices have the same shape and type. They may be one of Of rows: W the first M, Up the last.
// Where W is 0, it is that of what Dst holds and the latter.
type Experts struct {
	ExpertsArgs
	Type     Type
	Repacked bool
}

// Launch multiplies up to so many rows of the batch, each with Used experts.
func (a Experts) Launch(c Card, rows int) ([]Launch, error) {
	if a.Of == 0 {
		a.Of = a.M
	}
	weight, err := a.Type.weight(int(a.Of), int(a.K), a.Repacked)
	if err != nil {
		return nil, err
	}
	a.WStride = a.Type.size(int(a.Of), int(a.K))
	if !a.Type.plain() {
		a.XStride = QuantizedRow(int(a.K)) * int64(1+a.Residual)
	}
	if a.Repacked && a.WStride%16 != 0 {
		return nil, fmt.Errorf("%w: repacked experts of %d x %d", ErrUnsupported, a.Of, a.K)
	}
	if rows > Narrow {
		return a.prompt(c, weight, rows)
	}
	n := 1
	if !a.Type.plain() && a.Residual != 0 {
		n = 2
	}
	m := vecModule("experts_vec", a.Type, weight, n)
	a.Lanes = lanes(c, int(a.M), steps(a.Type, int(a.K)), rows*int(a.Used))
	l := launch(m, fmt.Sprintf("experts_vec_%s_%d", weight, n), over(int(a.M)<<a.Lanes, m.Threads()), int(a.Used), rows, &a.ExpertsArgs)
	return []Launch{l}, l.fits()
}
