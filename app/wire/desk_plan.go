//go:build !headless

package wire

import (
	"context"
	"errors"
	"slices"

	"ingot/app/library"
	"ingot/app/prefs"
	"ingot/app/window/live"

	cardsscreen "ingot/app/window/cards"
	"ingot/engine"
)

// deskPlanner predicts how models would run on the cards of the settings.
type deskPlanner struct{ desk *deskEngine }

func (d *deskPlanner) Plan(context.Context) (cardsscreen.Plan, error) {
	entry, err := d.entry()
	if errors.Is(err, library.ErrNotFound) || errors.Is(err, library.ErrMissing) {
		return cardsscreen.Plan{}, nil // nothing to plan
	}
	if err != nil {
		return cardsscreen.Plan{}, errors.New(sentence(err))
	}
	p := d.desk.prefs.Get()
	o := planOptions(p)
	got, err := engine.Plan(entry.Path(), o)
	if err != nil {
		return cardsscreen.Plan{Problem: sentence(err)}, nil
	}
	o.NoRepack = !o.NoRepack
	other, err := engine.Plan(entry.Path(), o)
	if err != nil {
		return cardsscreen.Plan{Problem: sentence(err)}, nil
	}
	o.NoRepack = !o.NoRepack
	plan := cardsscreen.Plan{Name: readable(entry), Repack: p.Engine.Repack, Context: got.Context}
	for i := range got.Topologies {
		t := &got.Topologies[i]
		if len(t.Stages) == 0 {
			continue
		}
		w := wayOf(t)
		w.OtherDecode, w.OtherPrefill = other.Topologies[i].Decode, other.Topologies[i].Prefill
		w.Best, w.InUse = i == got.Best, inUse(p.Engine, t, len(got.Topologies))
		plan.Ways = append(plan.Ways, w)
		if w.InUse && !w.Fits {
			plan.Fitting = fitting(entry.Path(), o, t, got.Context)
		}
	}
	return plan, nil
}

// entry is the model that is loaded or failed to be, else the one of new conversations.
func (d *deskPlanner) entry() (library.Entry, error) {
	all, err := d.desk.lib.List()
	if err != nil {
		return library.Entry{}, err
	}
	key := d.desk.State().Model
	if key == "" {
		key = d.desk.chosen()
	}
	i := slices.IndexFunc(all, func(e library.Entry) bool { return e.Key() == key })
	if i < 0 {
		return library.Entry{}, library.ErrNotFound
	}
	return all[i], nil
}

func planOptions(p prefs.Settings) engine.PlanOptions {
	e := p.Engine
	o := engine.PlanOptions{Options: engine.Options{Threads: e.Threads, Context: e.Context, Slots: e.Slots, UBatch: e.UBatch, Level: e.Level, Cards: chosenCards(e), NoRepack: !e.Repack}}
	if len(o.Cards) == 0 { // the processor: one way, as it is set. Of graphics cards every way is told.
		o.Cards, o.Split, o.TPS = []string{"cpu"}, e.Split, e.TPS
	}
	o.CacheK, o.CacheV = e.CacheTypes()
	return o
}

func wayOf(t *engine.Topology) cardsscreen.Way {
	w := cardsscreen.Way{Split: t.Split, TPS: t.TPS, Decode: t.Decode, Prefill: t.Prefill, Fits: t.Problem == ""}
	for i := range t.Stages {
		var lanes []cardsscreen.Share
		for _, l := range t.Stages[i].Lanes {
			lanes = append(lanes, cardsscreen.Share{Card: l.Card, Layers: t.Stages[i].Layers, Bytes: l.Total - l.Overhead, Memory: l.Memory}) // what the engine takes, without the driver
			if l.Total > w.Fullest {
				w.Fullest, w.Room = l.Total, l.Memory
			}
		}
		w.Stages = append(w.Stages, lanes)
	}
	return w
}

// inUse tells whether the settings mean that topology, one of so many.
func inUse(e prefs.Engine, t *engine.Topology, among int) bool {
	lanes := 0
	for _, s := range t.Stages {
		lanes = max(lanes, len(s.Lanes))
	}
	switch {
	case among == 1:
		return true
	case e.Split == "none" || e.Split == "layer":
		return t.Split == e.Split
	case e.TPS == 1:
		return t.Split == "layer"
	case e.TPS > 1:
		return t.Split == "tensor" && t.TPS == e.TPS
	}
	return t.Split == "tensor" && len(t.Stages) == 1 // all cards in one stage
}

// fitting is the longest context, halved until it does, with which a topology fits; 0: none does.
func fitting(path string, o engine.PlanOptions, t *engine.Topology, context int) int {
	o.Split, o.TPS = t.Split, t.TPS
	for n := context / 2; n >= 512; n /= 2 {
		o.Context = n
		if p, err := engine.Plan(path, o); err == nil && p.Best >= 0 {
			return n
		}
	}
	return 0
}

func (d *deskPlanner) Use(ctx context.Context, w cardsscreen.Way, repack bool, tokens int) error {
	err := d.desk.prefs.Update(func(p *prefs.Settings) {
		p.Engine.Split, p.Engine.TPS, p.Engine.Repack = w.Split, 0, repack
		if w.Split == "tensor" {
			p.Engine.TPS = w.TPS
		}
		if tokens > 0 {
			p.Engine.Context = tokens
		}
	})
	if err != nil {
		return errors.New(sentence(err))
	}
	if st := d.desk.State(); st.Model != "" && st.Phase != live.None {
		err = d.desk.Start(ctx, st.Model)
	}
	if err != nil {
		return errors.New(sentence(err))
	}
	return nil
}
