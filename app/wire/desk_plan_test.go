//go:build !headless

package wire

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"ingot/app/library"
	"ingot/app/prefs"
	"ingot/engine"
	"ingot/storage"
)

// On a processor alone the lanes of the settings are what is predicted, what the engine is started with, and what choosing on the
// cards screen keeps.
func TestLanesOfAProcessor(t *testing.T) {
	if devices, err := engine.Devices(); err != nil || len(devices) > 1 {
		t.Skipf("not a processor alone: %v, %v", devices, err)
	}
	db, err := storage.Open(filepath.Join(t.TempDir(), "ingot.db"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, err := prefs.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{paths: prefs.Paths{Cache: t.TempDir()}}
	desk := newDeskEngine(library.Open(db, library.Options{Inspect: inspect, Sample: h.sample}), p)
	screen, planner, ctx := &deskSettings{desk: desk}, &deskPlanner{desk}, context.Background()
	entry, err := planner.entry()
	if err != nil {
		t.Fatal(err)
	}
	set := func(tps int) {
		t.Helper()
		v, _, err := screen.Load(ctx)
		if err == nil {
			v.TPS = tps
			err = screen.Save(ctx, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(repack bool, args []string, cards ...string) {
		t.Helper()
		plan, err := planner.Plan(ctx)
		if err != nil || len(plan.Ways) != 1 {
			t.Fatalf("predicted %+v, %v, expected one way", plan, err)
		}
		var got []string
		for _, l := range plan.Ways[0].Stages[0] {
			got = append(got, l.Card)
		}
		if w := plan.Ways[0]; len(w.Stages) != 1 || !slices.Equal(got, cards) || !w.InUse || !w.Fits || plan.Repack != repack {
			t.Errorf("predicted %+v, expected one stage of %v", plan, cards)
		}
		var passed []string
		all := engineArgs(p.Get(), entry)
		for i, a := range all {
			if a == "-tps" || a == "-sm" {
				passed = append(passed, a, all[i+1])
			}
		}
		if !slices.Equal(passed, args) {
			t.Errorf("the engine is started with %q, expected %q", passed, args)
		}
	}
	use := func(repack bool) {
		t.Helper()
		plan, err := planner.Plan(ctx)
		if err == nil {
			err = planner.Use(ctx, plan.Ways[0], repack, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	check(true, nil, "cpu")
	use(false)
	check(false, []string{"-sm", "none"}, "cpu")
	set(2) // with the split that was kept there would be no such topology
	check(false, []string{"-tps", "2"}, "cpu:0", "cpu:1")
	use(true)
	check(true, []string{"-tps", "2", "-sm", "tensor"}, "cpu:0", "cpu:1")
	set(0)
	check(true, nil, "cpu")
}
