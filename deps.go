//go:build deps

package main

import (
	_ "fyne.io/fyne/v2/app"
	_ "fyne.io/fyne/v2/test"
	_ "github.com/dlclark/regexp2"
	_ "github.com/ebitengine/purego"
	_ "github.com/openai/openai-go/v3"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/yuin/goldmark"
	_ "go.etcd.io/bbolt"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/text/unicode/norm"
)
