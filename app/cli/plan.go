package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"ingot/engine"
)

func runPlan(_ context.Context, env *Env, args []string) error {
	o := engine.PlanOptions{Free: true}
	fs := flags(env, "plan")
	engineFlags(fs, &o.Options)
	fs.Lookup("cards").Usage = "`list` of cards, such as 8xMI50 or 2xRTX3090,cpu; not given: those that are here"
	fs.Var((*count)(&o.Slots), "np", "`sequences` at once; 0: 1")
	fs.Var((*count)(&o.Depth), "d", "`tokens` in the context when an answer's speed is predicted")
	fs.Var((*count)(&o.Prompt), "p", "length in `tokens` of the prompt whose speed is predicted; 0: 2048")
	sheets := fs.String("card-file", "", "JSON `file` with a list of further cards: name, memory_gib, bandwidth_gbs, f16_tflops, int8_tops, link_gbs")
	format := oneOf(fs.FlagSet, "o", "output `format`", "text", "json")
	rest, err := fs.parse(args, 1, 1)
	if err != nil {
		return err
	}
	path, err := env.Resolve(rest[0])
	if err != nil {
		return err
	}
	if *sheets != "" {
		if o.Sheets, err = readAll(env, *sheets); err != nil {
			return err
		}
	}
	p, err := engine.Plan(path, o)
	if err != nil {
		return err
	}
	if *format == "json" {
		return writeJSON(env.Stdout, p)
	}
	printPlan(env.Stdout, p)
	return nil
}

// printPlan lists the topologies, and of a single one the placement.
func printPlan(w io.Writer, p *engine.Planned) {
	fmt.Fprintf(w, "%s: %s parameters, %s; context %d", visible(p.Model), countText(p.Parameters), bytesText(p.Bytes), p.Context)
	if p.Slots > 1 {
		fmt.Fprintf(w, " for each of %d", p.Slots)
	}
	fmt.Fprintf(w, ", prompts of %d tokens in pieces of %d\n\n", p.Prompt, p.UBatch)
	fmt.Fprintf(w, "| %-20s | %-6s | %12s | %12s | %13s | %-11s |\n", "topology", "stages", "fullest card", "decode tok/s", "prefill tok/s", "")
	fmt.Fprintf(w, "| %s | %s | %s: | %s: | %s: | %s |\n", strings.Repeat("-", 20), strings.Repeat("-", 6), strings.Repeat("-", 11), strings.Repeat("-", 11),
		strings.Repeat("-", 12), strings.Repeat("-", 11))
	for i := range p.Topologies {
		t := &p.Topologies[i]
		note := ""
		switch {
		case i == p.Best:
			note = "recommended"
		case t.Lacks > 0:
			note = "too large"
		case t.Problem != "":
			note = "impossible"
		}
		fmt.Fprintf(w, "| %-20s | %-6s | %12s | %12.1f | %13.0f | %-11s |\n", topologyFlags(t), stageText(t), fmt.Sprintf("%d MiB", t.Fullest>>20), t.Decode, t.Prefill, note)
	}
	for i := range p.Topologies {
		if t := &p.Topologies[i]; t.Problem != "" {
			fmt.Fprintf(w, "\n%s: %s\n", topologyFlags(t), t.Problem)
		}
	}
	if len(p.Topologies) == 1 {
		printPlacement(w, &p.Topologies[0], p.Layers)
	}
}

// topologyFlags are the flags that make it.
func topologyFlags(t *engine.Topology) string {
	s := "-sm " + t.Split
	if t.TPS > 0 {
		s += fmt.Sprintf(" -tps %d", t.TPS)
	}
	if t.Layers >= 0 {
		s += fmt.Sprintf(" -ngl %d", t.Layers)
	}
	return s
}

// stageText is stages x lanes.
func stageText(t *engine.Topology) string {
	lanes := 0
	for _, s := range t.Stages {
		lanes = max(lanes, len(s.Lanes))
	}
	return fmt.Sprintf("%dx%d", len(t.Stages), lanes)
}

// printPlacement says what each card would hold.
func printPlacement(w io.Writer, t *engine.Topology, layers int) {
	if t.Sums > 0 {
		fmt.Fprintf(w, "\n%d collectives a token\n", t.Sums)
	}
	for i := range t.Stages {
		s := &t.Stages[i]
		fmt.Fprintf(w, "\nstage %d, %s\n", i+1, layerText(s, layers))
		for _, l := range s.Lanes {
			room := fmt.Sprintf("%d MiB", l.Memory>>20)
			if l.Free != nil {
				room = fmt.Sprintf("%d MiB free now, %d in all", l.Room()>>20, l.Memory>>20)
			}
			fmt.Fprintf(w, "  %-10s %6d of %s: weights %d, cache %d, state %d, scratch %d, driver %d\n", visible(l.Card), l.Total>>20, room,
				l.Weights>>20, l.Cache>>20, l.State>>20, l.Scratch>>20, l.Overhead>>20)
		}
		for _, p := range s.Pieces {
			how := ""
			if len(s.Lanes) > 1 {
				how = "on every lane"
			}
			switch p.Axis {
			case "":
			case "host":
				how = "in the host's memory"
			default:
				how = fmt.Sprintf("%s %s", p.Axis, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(p.Sizes)), " + "), "[]"))
			}
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("    %-32s %3d  %12s  %s", visible(p.Name), p.Count, binaryText(p.Bytes), how), " "))
		}
	}
}

// layerText is the part of a model of so many layers that a stage has.
func layerText(s *engine.Stage, layers int) string {
	var parts []string
	if s.First < 0 {
		parts = append(parts, "the embedding")
	}
	switch first, last := max(s.First, 0), min(s.Last, layers-1); {
	case first == last:
		parts = append(parts, fmt.Sprintf("layer %d", first))
	case first < last:
		parts = append(parts, fmt.Sprintf("layers %d to %d", first, last))
	}
	if s.Last >= layers {
		parts = append(parts, "the head")
	}
	return strings.Join(parts, ", ")
}
