package cli

import (
	"context"
	"fmt"
	"strings"

	"ingot/engine"
)

func runTokenize(ctx context.Context, env *Env, args []string) error {
	fs := flags(env, "tokenize")
	model := fs.String("m", "", "model or vocabulary-only `file`")
	if _, err := fs.parse(args, 0, 0); err != nil {
		return err
	}
	if *model == "" {
		return fs.misuse("-m is missing")
	}
	path, err := env.Resolve(*model)
	if err != nil {
		return err
	}
	v, err := engine.OpenVocab(path)
	if err != nil {
		return err
	}
	text, err := readAll(env, "-")
	if err != nil {
		return err
	}
	ids := v.Encode(string(text), false)
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint(id)
	}
	_, err = fmt.Fprintln(env.Stdout, strings.Join(words, " "))
	return err
}
