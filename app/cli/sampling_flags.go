package cli

import "ingot/engine/sample"

// samplingFlags adds the options that say how tokens are chosen. What it returns is set once they are parsed.
func samplingFlags(fs *flagSet) *sample.Params {
	temp := fs.Float64("temp", 0.7, "`temperature`; 0: greedy")
	topK := fs.Int("top-k", 40, "choose among that many best `tokens`; 0: all")
	topP := fs.Float64("top-p", 0.95, "choose among the best tokens that make up this `probability`; 1: all")
	minP := fs.Float64("min-p", 0.05, "drop tokens below this `share` of the best one's probability; 0: none")
	repeat := fs.Float64("repeat-penalty", 1, "make tokens of the last 64 less likely by this `factor`; 1: off")
	presence := fs.Float64("presence-penalty", 0, "lower the score of tokens that occurred by this `much`")
	frequency := fs.Float64("frequency-penalty", 0, "lower the score of tokens by this `much` each time they occurred")
	seed := fs.Int64("seed", -1, "random `seed`; -1: a new one each time")
	var p sample.Params
	fs.checks = append(fs.checks, func() error {
		p = sample.Params{Temperature: float32(*temp), TopK: *topK, TopP: float32(*topP), MinP: float32(*minP),
			RepeatPenalty: float32(*repeat), PresencePenalty: float32(*presence), FrequencyPenalty: float32(*frequency)}
		if *seed >= 0 {
			p.Seed, p.Seeded = uint64(*seed), true
		}
		return p.Check()
	})
	return &p
}
