package cli

import (
	"flag"

	"ingot/engine"
)

// engineFlags adds the options that every command that loads a model has.
func engineFlags(fs *flag.FlagSet, o *engine.Options) {
	fs.IntVar(&o.Threads, "t", 0, "`threads`; 0: one a physical core")
	fs.IntVar(&o.Context, "c", 0, "context in `tokens`; 0: what the file says, at most 4096")
	fs.IntVar(&o.UBatch, "ub", 0, "most `tokens` computed at once; 0: 512")
	fs.BoolVar(&o.NoRepack, "no-repack", false, "read weights where the file is mapped")
	fs.IntVar(&o.TPS, "tps", 0, "`lanes` a stage; 0: all cards in one stage")
	fs.StringVar(&o.Split, "sm", "", "split `mode`: none, layer or tensor")
}
