package cpu

import "testing"

func TestWork(t *testing.T) {
	m, err := Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	at := m.At(0)
	p := NewProgram(Generic)
	defer p.Free()
	for _, a := range []Args{
		&Matmul{W: at, X: at, Dst: at, Type: Q4_K, M: 100, K: 512},
		&Matmul{W: at, X: at, Dst: at, Type: F16, M: 10, K: 7, Rows: OutRows},
		&Experts{W: at, X: at, Dst: at, IDs: at, Type: Q8_0, M: 3, K: 64, Experts: 8, Used: 2},
		&Norm{X: at, Dst: at, Heads: 1, Cols: 4},
	} {
		if err := p.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		rows, outs  int
		bytes, macs int64
	}{
		{1, 0, 100*288 + 2*3*68, 51200 + 2*192},
		{1, 1, 100*288 + 2*3*68 + 140, 51200 + 2*192 + 70},
		{3, 2, 100*288 + 6*3*68 + 140, 3*(51200+2*192) + 2*70},
		{5, 0, 100*288 + 8*3*68, 5 * (51200 + 2*192)},
		{0, 0, 0, 0},
	} {
		if bytes, macs := p.Work(c.rows, c.outs); bytes != c.bytes || macs != c.macs {
			t.Errorf("%d rows, %d outputs: %d bytes and %d multiply-adds, expected %d and %d", c.rows, c.outs, bytes, macs, c.bytes, c.macs)
		}
	}
}
