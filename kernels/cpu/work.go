package cpu

// work is what a step costs at least, by the rows it is given.
type work struct {
	bytes, macs int64 // of weights read once for all rows; multiply-adds with them for one row
	outs        bool  // rows are those whose logits are wanted
	experts     int64 // of which a row uses `used`; 0: the step reads all of its weights. bytes are one expert's
	used        int64
}

func workOf(a Args) (w work) {
	switch a := a.(type) {
	case *Matmul:
		w = work{bytes: packedBytes(a.Type, a.M, a.K), macs: int64(a.M) * int64(a.K), outs: a.Rows == OutRows}
	case *Experts:
		w = work{bytes: packedBytes(a.Type, a.M, a.K), macs: int64(a.M) * int64(a.K) * int64(a.Used), experts: int64(a.Experts), used: int64(a.Used)}
	}
	return w
}

func packedBytes(t Type, m, k int32) int64 {
	values, size := t.Block()
	if values == 0 {
		return 0
	}
	return int64(m) * int64(k) / int64(values) * int64(size)
}

// of is the weight bytes and the multiply-adds of a run of so many rows and outputs. How many experts several rows use
// together is known only at run time: it counts as many as they can, which is exact for one row.
func (w *work) of(rows, outs int) (bytes, macs int64) {
	n := int64(rows)
	if w.outs {
		n = int64(outs)
	}
	if n == 0 {
		return 0, 0
	}
	bytes = w.bytes
	if w.experts > 0 {
		bytes *= min(w.experts, n*w.used)
	}
	return bytes, n * w.macs
}

// Work returns what one run on so many rows and outputs costs at least: the bytes of packed weights read by products,
// and their multiply-adds. Of experts it counts as many as the rows can use, which is exact for one row.
func (p *Program) Work(rows, outs int) (bytes, macs int64) {
	for i := range p.works {
		b, m := p.works[i].of(rows, outs)
		bytes, macs = bytes+b, macs+m
	}
	return bytes, macs
}
