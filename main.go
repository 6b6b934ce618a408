// Ingot runs GGUF language models on this machine: a window, a command line and an engine process in one binary.
package main

import (
	"os"

	"ingot/app/wire"
)

// version is set when the program is built.
var version = "dev"

func main() { os.Exit(wire.Main(version, os.Args[1:])) }
