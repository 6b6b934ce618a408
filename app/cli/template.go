package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ingot/engine"
)

func runTemplate(_ context.Context, env *Env, args []string) error {
	fs := flags(env, "template")
	file := fs.String("context", "", "JSON object with the template's variables; `file`, or - for standard input")
	at := fs.String("now", "", "`time` that the template is told, such as 2026-03-07T09:05:04Z; otherwise the present one")
	rest, err := fs.parse(args, 1, 1)
	if err != nil {
		return err
	}
	if *file == "" {
		return fs.misuse("--context is missing")
	}
	var now func() time.Time
	if *at != "" {
		t, err := time.Parse(time.RFC3339, *at)
		if err != nil {
			return fs.misuse(fmt.Sprintf("--now is %q, expected a time such as 2026-03-07T09:05:04Z", *at))
		}
		now = func() time.Time { return t }
	}
	vars, err := readAll(env, *file)
	if err != nil {
		return err
	}
	source, err := templateSource(env, rest[0])
	if err != nil {
		return err
	}
	text, err := engine.RenderTemplate(source, vars, now)
	if err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	_, err = fmt.Fprint(env.Stdout, text)
	return err
}

// templateSource reads a .jinja file, or the template that a model carries.
func templateSource(env *Env, ref string) (string, error) {
	if strings.HasSuffix(ref, ".jinja") || strings.HasSuffix(ref, ".j2") {
		b, err := readAll(env, ref)
		return string(b), err
	}
	path, err := env.Resolve(ref)
	if err != nil {
		return "", err
	}
	return engine.ModelTemplate(path)
}
