package library

import "testing"

func TestFitOf(t *testing.T) {
	const gb = 1 << 30
	mem := Memory{Total: 16 * gb, Available: 10 * gb}
	small := ModelInfo{FileBytes: 4 * gb, KVPerToken: 128 << 10, StateBytes: 20 << 20, Context: 32768}
	f := FitOf(small, Load{}, mem)
	if f.Context != 4096 || f.Cache != 512<<20 || f.State != 20<<20 || f.Need != 4*gb+(512+20)<<20+300e6 {
		t.Errorf("%+v", f)
	}
	for _, c := range []struct {
		info ModelInfo
		load Load
		mem  Memory
		want Verdict
		text string
	}{
		{small, Load{}, mem, Fits, "It needs 5.2 GB of the 10.7 GB that are free."},
		{small, Load{Context: 32768, Keys: "q8_0", Values: "q8_0"}, mem, Fits, "It needs 6.9 GB of the 10.7 GB that are free."},
		{small, Load{Context: 32768, Keys: "bf16"}, mem, Fits, "It needs 8.9 GB of the 10.7 GB that are free."},
		{small, Load{Context: 32768, Values: "q8_0"}, mem, Fits, "It needs 7.9 GB of the 10.7 GB that are free."},
		{small, Load{Context: 9216, Slots: 4}, mem, Tight, "It needs nearly all of the memory that is free: 9.5 GB of 10.7 GB."},
		{ModelInfo{FileBytes: 11 * gb}, Load{}, mem, Tight, "It needs 12.1 GB and 10.7 GB are free; end other programs first."},
		{ModelInfo{FileBytes: 40 * gb}, Load{}, mem, NoFit, "It needs 43.2 GB and this machine has 17.2 GB."},
		{small, Load{Context: 131072}, mem, NoFit, "It needs 21.8 GB and this machine has 17.2 GB; 17.2 GB of it is for the context of 131072 tokens, a shorter one would do."},
		{ModelInfo{FileBytes: 10 << 20, Context: 512}, Load{}, mem, Fits, "It needs 310 MB of the 10.7 GB that are free."},
		{ModelInfo{FileBytes: 1_676_584_672, Context: 512}, Load{}, mem, Fits, "It needs 2.0 GB of the 10.7 GB that are free."},
		{small, Load{}, Memory{}, Unknown, "It needs 5.2 GB; how much memory this machine has is not known."},
	} {
		if f := FitOf(c.info, c.load, c.mem); f.Verdict != c.want || f.Text != c.text {
			t.Errorf("%s: %s", f.Verdict, f.Text)
		}
	}
}

func TestSystemMemoryHere(t *testing.T) {
	m, err := SystemMemory()
	if err != nil || m.Total < 64<<20 || m.Available <= 0 || m.Available > m.Total {
		t.Errorf("%+v %v", m, err)
	}
	t.Logf("%s of %s are free", size(m.Available), size(m.Total))
}
