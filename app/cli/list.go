package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"ingot/app/library"
)

// modelRow is a model as list prints it. Numbers that are not known are 0.
type modelRow struct {
	Name         string `json:"name"` // what other commands take
	Source       string `json:"source"`
	Path         string `json:"path"`
	Architecture string `json:"architecture,omitempty"`
	Quantization string `json:"quantization,omitempty"`
	Size         int64  `json:"size"` // bytes
	Parameters   int64  `json:"parameters,omitempty"`
	Context      int    `json:"context,omitempty"` // tokens it was trained for
	InLibrary    bool   `json:"in_library"`
	Problem      string `json:"problem,omitempty"` // why it cannot run
}

func runList(_ context.Context, env *Env, args []string) error {
	fs := flags(env, "list")
	format := oneOf(fs.FlagSet, "o", "output `format`", "text", "json")
	var all bool
	fs.BoolVar(&all, "a", false, "also models in the stores of other programs")
	fs.Var(fs.Lookup("a").Value, "all", fs.Lookup("a").Usage)
	if _, err := fs.parse(args, 0, 0); err != nil {
		return err
	}
	l, err := env.Library()
	if err != nil {
		return err
	}
	entries, err := l.List()
	if err != nil {
		return err
	}
	rows := []modelRow{}
	for _, e := range entries {
		rows = append(rows, rowOf(e))
	}
	var found []modelRow
	if all {
		found = storeRows(l.Discover())
	}
	if *format == "json" {
		return writeJSON(env.Stdout, append(rows, found...))
	}
	printModels(env.Stdout, rows)
	if all {
		fmt.Fprintln(env.Stdout)
		printFound(env.Stdout, found)
	}
	return nil
}

func rowOf(e library.Entry) modelRow {
	i := e.Info
	r := modelRow{Name: e.Name, Source: e.Source, Path: e.Path(), Architecture: i.Architecture, Quantization: i.Quantization,
		Size: i.FileBytes, Parameters: i.Parameters, Context: i.Context, InLibrary: true, Problem: i.Problem}
	if e.Missing != "" {
		r.Problem = e.Missing
	}
	return r
}

// storeRows are the models that the library does not have.
func storeRows(found []library.Found) []modelRow {
	var rows []modelRow
	for _, f := range found {
		if f.Added {
			continue
		}
		r := modelRow{Name: f.Ref, Source: f.Source, Path: f.Paths[0], Size: f.Bytes}
		if r.Name == "" {
			r.Name = f.Name
		}
		rows = append(rows, r)
	}
	return rows
}

func printModels(w io.Writer, rows []modelRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tARCHITECTURE\tQUANT\tSIZE\tPARAMETERS\tCONTEXT")
	for _, r := range rows {
		context := "-"
		if r.Context > 0 {
			context = fmt.Sprint(r.Context)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", visible(r.Name), visible(or(r.Architecture)), or(r.Quantization), bytesText(r.Size), countText(r.Parameters), context)
	}
	t.Flush()
	names := map[string]int{}
	for _, r := range rows {
		names[r.Name]++
	}
	for _, r := range rows {
		if names[r.Name] > 1 {
			fmt.Fprintf(w, "%s: one of %d of that name: %s\n", visible(r.Name), names[r.Name], visible(r.Path))
		}
		if r.Problem != "" {
			fmt.Fprintf(w, "%s: %s\n", visible(r.Name), visible(r.Problem))
		}
	}
}

func printFound(w io.Writer, rows []modelRow) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "The stores of other programs hold no further models.")
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "IN OTHER STORES\tSTORE\tSIZE")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", visible(r.Name), r.Source, bytesText(r.Size))
	}
	t.Flush()
}

// or writes a dash for nothing.
func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
