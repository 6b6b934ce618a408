// Package sample picks the next token from logits.
package sample

// Params says how tokens are chosen. The zero value is greedy decoding without penalties.
type Params struct {
	Temperature      float32 // 0: greedy
	TopK             int     // 0: all
	TopP             float32 // 0 or 1: off
	MinP             float32 // 0: off
	RepeatPenalty    float32 // 0 or 1: off; divides positive logits of tokens seen, multiplies negative ones
	PresencePenalty  float32
	FrequencyPenalty float32
	PenaltyLastN     int // how many tokens back the penalties look; 0: 64, -1: all
	LogitBias        map[int32]float32
	Seed             uint64 // used when Seeded, else the engine draws one
	Seeded           bool
}
