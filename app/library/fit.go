package library

import "fmt"

// Verdict says whether a model can be loaded on this machine.
type Verdict string

const (
	Fits    Verdict = "fits"
	Tight   Verdict = "tight" // it can be loaded, with little to spare or after other programs end
	NoFit   Verdict = "does not fit"
	Unknown Verdict = "unknown" // the machine does not say how much memory it has
)

// overhead is what a loaded model needs beside weights and cache: scratch, the tokenizer, the process itself.
const overhead = 300e6

// Memory is the system's, in bytes.
type Memory struct{ Total, Available int64 }

// Load says how a model would be loaded; the zero value is the engine's default.
type Load struct {
	Context int    // tokens a slot; 0: what the model was trained for, at most 4096
	Slots   int    // 0: 1
	Keys    string // type of keys; "": f16
	Values  string // type of values; "": f16
}

// kvShare is the memory of a cache of another type than f16, which ModelInfo.KVPerToken counts.
var kvShare = map[string]float64{"f32": 2, "q8_0": 34.0 / 64, "q4_0": 18.0 / 64}

func kvShareOf(name string) float64 {
	if share, ok := kvShare[name]; ok {
		return share
	}
	return 1
}

// Fit is the memory that a model needs, in bytes, and what that means here.
type Fit struct {
	Verdict                            Verdict
	Need, Weights, Cache, State, Extra int64
	Context                            int // tokens a slot, as counted
	Memory
	Text string // a sentence
}

// FitOf works out what a model needs: its files, the KV cache of all slots at full length, the recurrent state of
// all slots and 300 MB. Above 85% of what is available it is tight.
func FitOf(info ModelInfo, load Load, mem Memory) Fit {
	f := Fit{Weights: info.FileBytes, Extra: overhead, Context: load.Context, Memory: mem}
	if f.Context == 0 {
		f.Context = 4096
		if info.Context > 0 {
			f.Context = min(f.Context, info.Context)
		}
	}
	slots := int64(max(1, load.Slots))
	f.Cache = info.KVPerToken * int64(f.Context) * slots
	f.Cache = int64(float64(f.Cache) * (kvShareOf(load.Keys) + kvShareOf(load.Values)) / 2)
	f.State = info.StateBytes * slots
	f.Need = f.Weights + f.Cache + f.State + f.Extra

	need, free, total := size(f.Need), size(mem.Available), size(mem.Total)
	switch {
	case mem.Total <= 0:
		f.Verdict = Unknown
		f.Text = fmt.Sprintf("It needs %s; how much memory this machine has is not known.", need)
	case float64(f.Need) <= 0.85*float64(mem.Available):
		f.Verdict = Fits
		f.Text = fmt.Sprintf("It needs %s of the %s that are free.", need, free)
	case f.Need <= mem.Available:
		f.Verdict = Tight
		f.Text = fmt.Sprintf("It needs nearly all of the memory that is free: %s of %s.", need, free)
	case float64(f.Need) <= 0.85*float64(mem.Total):
		f.Verdict = Tight
		f.Text = fmt.Sprintf("It needs %s and %s are free; end other programs first.", need, free)
	case float64(f.Need-f.Cache) <= 0.85*float64(mem.Total) && f.Cache > f.Weights/4:
		f.Verdict = NoFit
		f.Text = fmt.Sprintf("It needs %s and this machine has %s; %s of it is for the context of %d tokens, a shorter one would do.", need, total, size(f.Cache), f.Context)
	default:
		f.Verdict = NoFit
		f.Text = fmt.Sprintf("It needs %s and this machine has %s.", need, total)
	}
	return f
}

// size writes bytes in decimal units, as the sizes of files are.
func size(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
