//go:build headless

package wire

import (
	"context"
	"errors"

	"ingot/app/cli"
)

// noWindow says why there is no window.
func noWindow() string { return "this build has no window" }

func (h *house) window(context.Context, *cli.Env) error { return errors.New(noWindow()) }
