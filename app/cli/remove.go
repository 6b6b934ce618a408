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
		path, err := remove(l, ref)
		if err != nil {
			complain(env, err)
			failed = true
			continue
		}
		fmt.Fprintf(env.Stdout, "removed %s; the file stays: %s\n", ref, path)
	}
	if failed {
		return errReported
	}
	return nil
}

// remove takes one model out and returns where its file lies.
func remove(l Library, ref string) (path string, err error) {
	e, err := l.Find(ref)
	switch {
	case errors.Is(err, library.ErrMissing) && e.ID != 0: // gone from the disk, and now from the list
	case err != nil:
		return "", fmt.Errorf("remove: %w", err)
	case e.IsSample():
		return "", fmt.Errorf("remove %s: %w", ref, library.ErrSample)
	case e.ID == 0:
		return "", fmt.Errorf("remove %s: the library does not have it", ref)
	}
	_, err = l.Remove(e.ID)
	return e.Path(), err
}
