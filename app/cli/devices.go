package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"ingot/engine"
)

type deviceRow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	MemoryTotal int64  `json:"memory_total"` // bytes
	MemoryFree  int64  `json:"memory_free"`
}

func runDevices(_ context.Context, env *Env, args []string) error {
	fs := flags(env, "devices")
	format := oneOf(fs.FlagSet, "o", "output `format`", "text", "json")
	if _, err := fs.parse(args, 0, 0); err != nil {
		return err
	}
	cards, err := engine.Devices()
	if err != nil {
		return err
	}
	rows := []deviceRow{}
	for _, c := range cards {
		rows = append(rows, deviceRow{c.Name, c.Description, c.Total, c.Free})
	}
	reasons := env.Stdout
	if *format == "json" {
		if err := writeJSON(env.Stdout, rows); err != nil {
			return err
		}
		reasons, rows = env.Stderr, nil
	}
	for _, r := range rows {
		fmt.Fprintf(env.Stdout, "%s: %s, %s of memory, %s free\n", r.Name, r.Description, bytesText(r.MemoryTotal), bytesText(r.MemoryFree))
	}
	for _, line := range append(engine.Undriven(), engine.LongSums()...) {
		fmt.Fprintln(reasons, line)
	}
	return nil
}

// writeJSON prints a value for programs, indented for people.
func writeJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
