package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"ingot/app/library"
)

func runAdd(ctx context.Context, env *Env, args []string) error {
	rest, err := flags(env, "add").parse(args, 1, -1)
	if err != nil {
		return err
	}
	l, err := env.Library()
	if err != nil {
		return err
	}
	failed := false
	for _, arg := range rest {
		a, err := add(ctx, l, arg)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			complain(env, err)
			failed = true
			continue
		}
		for _, f := range a.Failed {
			complain(env, f)
			failed = true
		}
		for _, e := range a.Entries {
			i := e.Info
			fmt.Fprintf(env.Stdout, "added %s (%s, %s, %s)\n", visible(e.Name), visible(or(i.Architecture)), or(i.Quantization), bytesText(i.FileBytes))
			if i.Problem != "" {
				complain(env, fmt.Errorf("%s cannot run here: %s", e.Name, i.Problem))
			}
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// add puts what an argument names into the library: a file or folder, or a model of another program's store.
func add(ctx context.Context, l Library, arg string) (library.Added, error) {
	_, err := os.Stat(arg)
	if err == nil || strings.HasPrefix(arg, "~") || strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "/") ||
		strings.HasSuffix(strings.ToLower(arg), ".gguf") && !strings.Contains(arg, ":") {
		return l.Add(ctx, arg)
	}
	e, err := l.AddRef(ctx, arg)
	if err != nil {
		return library.Added{}, fmt.Errorf("add %s: %w", arg, err)
	}
	return library.Added{Entries: []library.Entry{e}}, nil
}
