package cli

import (
	"flag"

	"ingot/engine"
)

// engineFlags adds the options that every command that loads a model has.
func engineFlags(fs *flag.FlagSet, o *engine.Options) {
	fs.Var((*count)(&o.Threads), "t", "`threads`; 0: one a physical core")
	fs.Var((*count)(&o.Context), "c", "context in `tokens`; 0: what the file says, at most 4096")
	fs.Var((*count)(&o.UBatch), "ub", "most `tokens` computed at once; 0: 512")
	cacheFlags(fs, &o.CacheK, &o.CacheV)
	fs.BoolVar(&o.NoRepack, "no-repack", false, "read weights where the file is mapped: starts sooner, answers more slowly")
	fs.Var((*count)(&o.TPS), "tps", "`lanes` a stage; 0: all cards in one stage")
	fs.Var(&choice{&o.Split, []string{"none", "layer", "tensor"}}, "sm", "split `mode`: none, layer or tensor")
}

// cacheFlags adds the options for the types of the KV cache.
func cacheFlags(fs *flag.FlagSet, keys, values *string) {
	for _, part := range []struct {
		short, long, what string
		value             *string
	}{{"ctk", "cache-type-k", "keys", keys}, {"ctv", "cache-type-v", "values", values}} {
		v := &choice{part.value, []string{"f16", "bf16", "q8_0", "q4_0", "f32"}}
		usage := "`type` of the KV cache's " + part.what + ": f16 (as when not given), bf16, q8_0 (about half the memory), q4_0 (a quarter, less exact) or f32"
		fs.Var(v, part.short, usage)
		fs.Var(v, part.long, usage)
	}
}
