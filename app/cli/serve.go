package cli

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"

	"ingot/app/openai"
	"ingot/app/server"
	"ingot/engine"
)

func runServe(ctx context.Context, env *Env, args []string) error {
	var o engine.Options
	fs := flags(env, "serve")
	engineFlags(fs, &o)
	sampling := samplingFlags(fs)
	host := fs.String("host", "127.0.0.1", "`address` to listen on; beyond loopback a key is required")
	port := fs.Int("port", 11500, "TCP `port`")
	key := fs.String("api-key", "", "`key` that clients must send")
	alias := fs.String("alias", "", "model `name` to answer to")
	var hosts, origins []string
	fs.Var((*wordList)(&hosts), "allow-host", "`names`,... that requests may call this server by, beside its own; *: any")
	fs.Var((*wordList)(&origins), "allow-origin", "`origins`,... of web pages that may use it, beside its own; *: any")
	quiet := fs.Bool("q", false, "do not log requests")
	fs.Var((*count)(&o.Slots), "np", "`sequences` answered at once; 0: 1")
	fs.checks = append(fs.checks, func() error {
		if *port < 0 || *port > math.MaxUint16 {
			return fmt.Errorf("--port is %d, expected 0 to %d", *port, math.MaxUint16)
		}
		return nil
	})
	rest, err := fs.parse(args, 1, 1)
	if err != nil {
		return err
	}
	path, err := env.Resolve(rest[0])
	if err != nil {
		return err
	}
	so := server.Options{Names: modelNames(*alias, rest[0], path), Defaults: sampling}
	if !*quiet {
		so.Log = slog.New(slog.NewTextHandler(env.Stderr, nil))
	}
	s := server.New(so)
	defer s.Shutdown()
	l, err := s.ListenPublic(openai.ListenRequest{Host: *host, Port: *port, Key: *key, Hosts: hosts, Origins: origins})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "loading %s\n", filepath.Base(path))
	o.Progress = s.SetLoading
	e, err := engine.Open(path, o)
	if err != nil {
		return err
	}
	defer e.Close()
	s.SetEngine(e)
	warn(env, e.Info())
	warnOfVocabulary(env, e.Info())
	fmt.Fprintf(env.Stderr, "%s answers at %s\n", e.Info().Name, l.URL)
	<-ctx.Done()
	s.Shutdown() // running answers end before their engine does
	return nil
}

// modelNames are the ids a served model answers to; the first is the one that is listed.
func modelNames(alias, ref, path string) []string {
	var names []string
	for _, n := range []string{alias, ref, filepath.Base(path)} {
		if n != "" && n != path && filepath.Base(n) != n && filepath.IsAbs(n) {
			continue
		}
		if n != "" && n != path {
			names = append(names, n)
		}
	}
	return names
}

// runEngine is the engine process that the window starts; it speaks on a unix socket to its parent alone.
func runEngine(ctx context.Context, env *Env, args []string) error {
	var o engine.Options
	fs := flags(env, "engine")
	engineFlags(fs, &o)
	sampling := samplingFlags(fs)
	socket := fs.String("socket", "", "unix `socket` to serve")
	alias := fs.String("alias", "", "model `name` to answer to")
	fs.Var((*count)(&o.Slots), "np", "`sequences` answered at once; 0: 1")
	rest, err := fs.parse(args, 1, 1)
	if err != nil {
		return err
	}
	if *socket == "" {
		return fs.misuse("--socket is missing")
	}
	po := server.ProcessOptions{Socket: *socket, Options: server.Options{Names: modelNames(*alias, rest[0], rest[0]), Defaults: sampling}}
	return server.RunEngineProcess(ctx, env.Stdin, po, func(progress func(float64)) (server.Engine, error) {
		path, err := env.Resolve(rest[0])
		if err != nil {
			return nil, err
		}
		o.Progress = progress
		return engine.Open(path, o)
	})
}
