// Package sample picks the next token from logits.
//
//	s := sample.New(params, vocab)
//	for _, t := range prompt {
//		s.Accept(t)
//	}
//	id := s.Next(logits) // then s.Accept(id), and so on
package sample

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

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

// DefaultPenaltyLastN is how far the penalties look back where PenaltyLastN is 0.
const DefaultPenaltyLastN = 64

// ParamError is returned when a parameter has a value that means nothing.
type ParamError struct {
	Param string // as the HTTP dialect spells it, such as "top_p"
	Value any
	Want  string
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("%s is %v, expected %s", e.Param, e.Value, e.Want)
}

// Check returns a *ParamError for the first parameter that is out of range.
func (p Params) Check() error {
	const inf = math.MaxFloat32
	for _, f := range []struct {
		name     string
		v        float32
		min, max float32
		want     string
	}{
		{"temperature", p.Temperature, 0, inf, "a finite number from 0"},
		{"top_p", p.TopP, 0, 1, "a number from 0 to 1"},
		{"min_p", p.MinP, 0, 1, "a number from 0 to 1"},
		{"repeat_penalty", p.RepeatPenalty, 0, inf, "a finite number from 0"},
		{"presence_penalty", p.PresencePenalty, -inf, inf, "a finite number"},
		{"frequency_penalty", p.FrequencyPenalty, -inf, inf, "a finite number"},
	} {
		if !(f.v >= f.min && f.v <= f.max) { // so written, NaN fails
			return &ParamError{f.name, f.v, f.want}
		}
	}
	if p.TopK < 0 {
		return &ParamError{"top_k", p.TopK, "a number from 0"}
	}
	if p.PenaltyLastN < -1 {
		return &ParamError{"penalty_last_n", p.PenaltyLastN, "a number from -1"}
	}
	for _, id := range slices.Sorted(maps.Keys(p.LogitBias)) {
		if id < 0 {
			return &ParamError{"logit_bias", id, "token ids from 0"}
		}
		if b := p.LogitBias[id]; math.IsNaN(float64(b)) {
			return &ParamError{fmt.Sprintf("logit_bias of token %d", id), b, "a number"}
		}
	}
	return nil
}

// penalized tells whether any penalty is on.
func (p Params) penalized() bool {
	return p.RepeatPenalty != 0 && p.RepeatPenalty != 1 || p.PresencePenalty != 0 || p.FrequencyPenalty != 0
}
