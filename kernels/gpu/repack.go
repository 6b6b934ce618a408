package gpu

import "fmt"

// RepackArgs mirror repack_args: Dst = the matrix Src of M rows of K values in the order of lib/planes.h, which takes the
// same bytes. Dst is not Src, and begins on 16 bytes.
type RepackArgs struct {
	Src, Dst Ptr
	M        int64
	K, _     int32
}

// Repack puts one matrix in order. Several that lie one after the other, such as experts', are put in order one by one.
type Repack struct {
	RepackArgs
	Type Type
}

// Launch is for any type that Repacks.
func (a Repack) Launch(Card) (Launch, error) {
	weight, err := a.Type.weight(int(a.M), int(a.K), true)
	if err != nil {
		return Launch{}, fmt.Errorf("repack: %w", err)
	}
	m := Module{File: "repack.gpu", Weight: weight}
	l := launch(m, "repack_"+weight, over(int(a.M)*int(a.K)/32, m.Threads()), 1, 1, &a.RepackArgs)
	return l, l.fits()
}
