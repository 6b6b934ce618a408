package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"ingot/engine"
)

// recording is what another program answered: for each prompt its greedy steps, each with the token chosen and the
// best tokens with their natural-log probabilities.
type recording struct {
	Model string
	Cases []struct {
		Prompt []int32
		Steps  []struct {
			ID  int32
			Top [][2]float64
		}
	}
}

// difference sums |delta log p| over the recorded candidates.
type difference struct {
	Mean        float64 `json:"mean"`
	Max         float64 `json:"max"`
	FirstMean   float64 `json:"first_mean"`   // of the first step of each case
	ArgmaxAgree float64 `json:"argmax_agree"` // share of steps with the same best token
	Steps       int     `json:"steps"`
}

func runCompareLogits(ctx context.Context, env *Env, args []string) error {
	fs := flags(env, "compare-logits")
	fs.note = "REF.json: {\"cases\": [{\"prompt\": [ID...], \"steps\": [{\"id\": ID, \"top\": [[ID, LOG PROBABILITY]...]}...]}...]}, best first.\n" +
		"mean, max: how far the log-probabilities of \"top\" are off, first mean: in each case's first step; argmax agree: the share of steps\n" +
		"whose best token is the recorded one. Two programs' roundings of one file differ by 0.01 to 0.2, another model by several."
	format := oneOf(fs.FlagSet, "o", "output `format`", "md", "json")
	var o engine.Options
	engineFlags(fs, &o)
	rest, err := fs.parse(args, 2, 2)
	if err != nil {
		return err
	}
	data, err := readAll(env, rest[1])
	if err != nil {
		return err
	}
	var ref recording
	if err := json.Unmarshal(data, &ref); err != nil {
		return fmt.Errorf("%s is no recording of logits: %w", rest[1], err)
	}
	path, err := env.Resolve(rest[0])
	if err != nil {
		return err
	}
	e, err := engine.Open(path, o)
	if err != nil {
		return err
	}
	defer e.Close()
	warn(env, e.Info())
	d, err := compare(ctx, e, &ref)
	if err != nil {
		return err
	}
	if *format == "json" {
		return json.NewEncoder(env.Stdout).Encode(d)
	}
	fmt.Fprintf(env.Stdout, "| mean | max | first mean | argmax agree | steps |\n|---|---|---|---|---|\n| %.6f | %.6f | %.6f | %.4f | %d |\n",
		d.Mean, d.Max, d.FirstMean, d.ArgmaxAgree, d.Steps)
	return nil
}

// compare feeds each prompt and the recorded tokens, never its own choice, and compares step by step.
func compare(ctx context.Context, e *engine.Engine, ref *recording) (d difference, err error) {
	var count, firstCount, agree int
	for ci, c := range ref.Cases {
		s, err := e.NewSession()
		if err != nil {
			return d, err
		}
		feed := c.Prompt
		for i, step := range c.Steps {
			if ctx.Err() != nil {
				s.Close()
				return d, ctx.Err()
			}
			var bad error
			err := s.Feed(feed, func(logits []float32) {
				norm, best := logSumExp(logits)
				if len(step.Top) > 0 && best == int32(step.Top[0][0]) {
					agree++
				}
				for _, t := range step.Top {
					id := int(t[0])
					if t[0] < 0 || id >= len(logits) || float64(id) != t[0] {
						bad = fmt.Errorf("case %d: token %v of a vocabulary of %d", ci, t[0], len(logits))
						return
					}
					if t[1] > 1e-3 || t[1] < -1e4 {
						bad = fmt.Errorf("case %d, step %d: %v is no log-probability", ci, i, t[1])
						return
					}
					delta := math.Abs(float64(logits[id]) - norm - t[1])
					if math.IsNaN(delta) {
						bad = fmt.Errorf("case %d, step %d: logit of token %d is not a number", ci, i, id)
						return
					}
					d.Mean += delta
					d.Max = max(d.Max, delta)
					count++
					if i == 0 {
						d.FirstMean += delta
						firstCount++
					}
				}
			})
			if err == nil {
				err = bad
			}
			if err != nil {
				s.Close()
				return d, err
			}
			d.Steps++
			feed = []int32{step.ID}
		}
		s.Close()
	}
	if count == 0 {
		return d, fmt.Errorf("the recording has no steps")
	}
	d.Mean /= float64(count)
	if firstCount > 0 {
		d.FirstMean /= float64(firstCount)
	}
	d.ArgmaxAgree = float64(agree) / float64(d.Steps)
	return d, nil
}

// logSumExp is the logarithm of the sum of exponentials, and the index of the largest value (the first of equals).
func logSumExp(x []float32) (norm float64, best int32) {
	for i, v := range x {
		if v > x[best] {
			best = int32(i)
		}
	}
	top, sum := float64(x[best]), 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum), best
}
