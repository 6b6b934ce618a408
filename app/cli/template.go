package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"ingot/engine"
)

func runTemplate(ctx context.Context, env *Env, args []string) error {
	fs := flags(env, "template")
	file := fs.String("context", "", "JSON object with the template's variables (`FILE`, - for standard input)")
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	if *file == "" {
		fs.Usage()
		return errUsage
	}
	vars, err := readAll(env, *file)
	if err != nil {
		return err
	}
	source, err := templateSource(env, rest[0])
	if err != nil {
		return err
	}
	text, err := engine.RenderTemplate(source, vars)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(env.Stdout, text)
	return err
}

// templateSource reads a .jinja file, or the template that a model carries.
func templateSource(env *Env, ref string) (string, error) {
	if strings.HasSuffix(ref, ".jinja") || strings.HasSuffix(ref, ".j2") {
		b, err := os.ReadFile(ref)
		return string(b), err
	}
	path, err := env.Resolve(ref)
	if err != nil {
		return "", err
	}
	return engine.ModelTemplate(path)
}
