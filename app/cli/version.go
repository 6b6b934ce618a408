package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

func runVersion(_ context.Context, env *Env, args []string) error {
	if _, err := flags(env, "version").parse(args, 0, 0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.Stdout, "ingot %s (commit %s, %s, %s/%s)\n", env.Version, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// commit is the revision that the binary was built from, shortened; "unknown" outside a checkout.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(9, len(s.Value))]
		}
	}
	return "unknown"
}
