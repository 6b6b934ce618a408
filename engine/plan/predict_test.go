package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ingot/engine/plan"
	"ingot/engine/tensor"
)

func TestListsOfCards(t *testing.T) {
	more, err := plan.ReadSheets([]byte(`[{"name": "B200", "memory_gib": 180, "bandwidth_gbs": 8000, "f16_tflops": 2250}, {"name": "MI50", "memory_gib": 8, "bandwidth_gbs": 1, "f16_tflops": 1}]`))
	if err != nil {
		t.Fatal(err)
	}
	for list, want := range map[string]string{
		"8xMI50":                  "8 of 8 GiB",
		"MI50-16,mi50 16":         "2 of 16 GiB",
		"2xRTX 3090,3xrtx-3090":   "5 of 24 GiB",
		"7900XTX":                 "1 of 24 GiB", // no count: the x is the name's
		"2x7900xtx":               "2 of 24 GiB",
		"RX 6800 XT":              "1 of 16 GiB",
		"NVIDIA GeForce RTX 4090": "1 of 24 GiB",
		"Radeon VII":              "1 of 16 GiB",
		"b200":                    "1 of 180 GiB",
	} {
		cards, err := plan.ParseCards(list, more)
		if err != nil {
			t.Errorf("%q: %v", list, err)
			continue
		}
		if got := fmt.Sprintf("%d of %v GiB", len(cards), cards[0].Memory); got != want {
			t.Errorf("%q: %s, expected %s", list, got, want)
		}
	}
	for list, want := range map[string]string{
		"": "no card", "MI50,": "no card", "0xMI50": "0 of MI50", "-1xMI50": "-1 of MI50", "65xMI50": "65 of MI50", "60xMI50,5xMI60": "5 of MI60",
		"MI51": `"MI51" is not known`, "2xx": `"x" is not known`, "RTX": `"RTX" is not known`,
	} {
		if _, err := plan.ParseCards(list, more); !errors.Is(err, plan.ErrCards) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, expected %q", list, err, want)
		}
	}
	for text, want := range map[string]string{
		`{}`: "a list of objects is expected", `[{"memory_gib": 1, "bandwidth_gbs": 1, "f16_tflops": 1}]`: "no name", `[{"name": "x", "bandwidth_gbs": 1, "f16_tflops": 1}]`: "memory_gib is 0",
		`[{"name": "x", "memory_gib": 1, "bandwidth_gbs": -1, "f16_tflops": 1}]`: "bandwidth_gbs is -1", `[{"name": "x", "memory_gib": 1e9, "bandwidth_gbs": 1, "f16_tflops": 1}]`: "memory_gib is 1e+09",
	} {
		if _, err := plan.ReadSheets([]byte(text)); !errors.Is(err, plan.ErrCards) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}

// What must hold whatever the constants are.
func TestPredictionsAreOrdered(t *testing.T) {
	base := row{of: decode, model: "Qwen3-14B", mix: "Q4_K_M", cards: 4, tps: 4}
	tell := func(r row, change func(*ready)) plan.Prediction {
		q := r.ready(t)
		if change != nil {
			change(q)
		}
		return plan.Predict(q.topology, q.sheets, &q.use, &plan.Fitted)
	}
	p := tell(base, nil)
	for name, slower := range map[string]plan.Prediction{
		"deeper":                    tell(base, func(q *ready) { q.use.Depth = 4000 }),
		"without token graphs":      tell(base, func(q *ready) { q.use.NoGraphs = true }),
		"one card slower":           tell(base, func(q *ready) { s := *q.sheets["hip:2"]; s.Bandwidth /= 4; q.sheets["hip:2"] = &s }),
		"a slow link":               tell(base, func(q *ready) { s := *q.sheets["hip:0"]; s.Link = 0.1; q.sheets["hip:0"] = &s }),
		"weights as the file's are": tell(base, func(q *ready) { q.use.Packed = true }),
		"stages":                    tell(row{of: decode, model: "Qwen3-14B", mix: "Q4_K_M", cards: 4, tps: 1}, nil),
		"larger weights":            tell(row{of: decode, model: "Qwen3-14B", mix: "Q8_0", cards: 4, tps: 4}, nil),
	} {
		if slower.Decode >= p.Decode {
			t.Errorf("%s: %.1f tokens a second, %.1f otherwise", name, slower.Decode, p.Decode)
		}
	}
	if p.Sums != 81 { // two a layer, and the logits are joined
		t.Errorf("%d collectives a token", p.Sums)
	}
	// Stages work on several pieces of a prompt at once.
	layer := row{of: prefill, model: "Qwen3-14B", mix: "Q4_K_M", cards: 4, tps: 1}
	one, four := layer, layer
	one.prompt, four.prompt = 512, 2048
	if a, b := tell(one, nil).Prefill, tell(four, nil).Prefill; b < 2*a || b > 4*a {
		t.Errorf("a prompt of one piece %.0f tokens a second, of four %.0f, over four stages", a, b)
	}
	// Memory is that of the lanes, and what the driver takes.
	q := base.ready(t)
	for i, s := range q.topology.Stages {
		for j, l := range s.Lanes {
			if got := p.Memory[i][j] - plan.Fitted.Overhead; got != l.Memory.Total() || l.Memory.Cache != q.use.Keep.Bytes(l.Plan.States[0])*40 {
				t.Errorf("%s: %d bytes, its parts are %+v", l.Card.Name, got, l.Memory)
			}
		}
	}
	if q.use.Keep.Keys != tensor.F16 {
		t.Error("the cache is counted as f16")
	}
}
