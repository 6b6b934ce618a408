package cli

import (
	"context"
	"errors"
	"fmt"

	"ingot/app/library"
)

func runRemove(_ context.Context, env *Env, args []string) error {
	rest, err := flags(env, "remove").parse(args, 1, -1)
	if err != nil {
		return err
	}
	l, err := env.Library()
	if err != nil {
		return err
	}
	failed := false
	for _, ref := range rest {
		e, err := remove(l, ref)
		if err != nil {
			complain(env, err)
			failed = true
			continue
		}
		file := "the file stays: " + visible(e.Path())
		if e.Missing != "" {
			file = "its file was gone already"
		}
		fmt.Fprintf(env.Stdout, "removed %s; %s\n", ref, file)
	}
	if failed {
		return errReported
	}
	return nil
}

// remove takes one model out and returns what it was.
func remove(l Library, ref string) (e library.Entry, err error) {
	e, err = l.Find(ref)
	switch {
	case errors.Is(err, library.ErrMissing) && e.ID != 0: // gone from the disk, and now from the list
	case err != nil:
		return e, fmt.Errorf("remove: %w", err)
	case e.IsSample():
		return e, fmt.Errorf("remove %s: %w", ref, library.ErrSample)
	case e.ID == 0:
		return e, fmt.Errorf("remove %s: the library does not have it", ref)
	}
	_, err = l.Remove(e.ID)
	return e, err
}
