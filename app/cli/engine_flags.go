package cli

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"

	"ingot/engine"
)

// optionNames says options as the command line does.
var optionNames = strings.NewReplacer("Options.Threads", "-t", "Options.Context", "-c", "Options.UBatch", "-ub", "Options.Slots", "-np",
	"Options.CacheK", "-ctk", "Options.CacheV", "-ctv", "Options.Load", "-lm", "Options.Split", "-sm", "Options.TPS", "-tps", "Options.Moves", "-ot")

// engineFlags adds the options that every command that loads a model has.
func engineFlags(fs *flagSet, o *engine.Options) {
	fs.Var((*count)(&o.Threads), "t", "`threads`; 0: one a physical core")
	fs.Var((*count)(&o.Context), "c", "context in `tokens`; 0: what the file says, at most 4096")
	fs.Var((*count)(&o.UBatch), "ub", "most `tokens` computed at once; 0: 512")
	cacheFlags(fs.FlagSet, &o.CacheK, &o.CacheV)
	fs.BoolVar(&o.NoRepack, "no-repack", false, "read weights where the file is mapped: starts sooner, answers more slowly")
	loadFlags(fs.FlagSet, &o.Load)
	cardFlags(fs.FlagSet, &o.Cards, &o.Moves, &o.TPS, &o.Split, &o.Shares)
	fs.Var(&layers{&o.Layers}, "ngl", "how many of the last `layers` the cards get, the head counted as one; the rest stays on the CPU")
	fs.checks = append(fs.checks, o.Check)
}

// warn says what is likely a mistake in how a model was opened.
func warn(env *Env, i engine.Info) {
	warnOfContext(env, i)
	warnOfThreads(env, i)
}

// warnOfContext says that a model holds more tokens than it was trained for.
func warnOfContext(env *Env, i engine.Info) {
	if i.TrainContext > 0 && i.Context > i.TrainContext {
		fmt.Fprintf(env.Stderr, "ingot: a context of %d tokens, but %s was trained for %d: answers may go wrong beyond\n", i.Context, visible(i.Name), i.TrainContext)
	}
}

// warnOfVocabulary says that a served model cannot be sent text.
func warnOfVocabulary(env *Env, i engine.Info) {
	if i.NoVocab {
		fmt.Fprintf(env.Stderr, "ingot: %s has no vocabulary: text is refused, /v1/completions takes token numbers\n", visible(i.Name))
	}
}

// warnOfThreads says that there are more threads than can run at once: they wait for each other at every step.
func warnOfThreads(env *Env, i engine.Info) {
	if n := runtime.NumCPU(); i.Threads > n {
		fmt.Fprintf(env.Stderr, "ingot: %s, but %s here: that is slower than fewer\n", counted(i.Threads, "thread"), counted(n, "processor"))
	}
}

// loadFlags adds the option for how weights get into memory.
func loadFlags(fs *flag.FlagSet, load *string) {
	v := &choice{load, engine.LoadModes}
	const usage = "load `mode`: mmap maps the file (as when not given), none reads it, dio reads it past the page cache, mlock holds it in memory"
	fs.Var(v, "lm", usage)
	fs.Var(v, "load-mode", usage)
}

// cardFlags adds the options for what a model runs on.
func cardFlags(fs *flag.FlagSet, cards, moves *[]string, tps *int, split *string, shares *[]float64) {
	fs.Var((*wordList)(cards), "cards", "`list` of cards, such as hip:0,hip:1; cpu:0,cpu:1 are halves of the processor, 4xcpu quarters")
	fs.Var((*count)(tps), "tps", "`lanes` a stage; 0: all cards in one stage. A CPU alone is cut into as many")
	fs.Var((*proportions)(shares), "ts", "`proportions` of the cards, such as 3,1")
	fs.Var((*wordList)(moves), "ot", "`PATTERN=CARD`,...: operations that read a tensor whose name matches run on that card")
	fs.Var(&choice{split, engine.SplitModes}, "sm", "split `mode`: none, layer or tensor")
}

// cacheFlags adds the options for the types of the KV cache.
func cacheFlags(fs *flag.FlagSet, keys, values *string) {
	for _, part := range []struct {
		short, long, what string
		value             *string
	}{{"ctk", "cache-type-k", "keys", keys}, {"ctv", "cache-type-v", "values", values}} {
		v := &choice{part.value, engine.CacheTypes}
		usage := "`type` of the KV cache's " + part.what + ": f16 (as when not given), bf16, q8_0 (about half the memory), q4_0 (a quarter, less exact) or f32"
		fs.Var(v, part.short, usage)
		fs.Var(v, part.long, usage)
	}
}

// proportions is a flag that takes numbers above 0, by commas.
type proportions []float64

func (p *proportions) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]float64(*p)), " ", ","), "[]")
}

func (p *proportions) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil || !(n > 0) || math.IsInf(n, 0) {
			return errors.New("expected numbers above 0, such as 3,1")
		}
		*p = append(*p, n)
	}
	return nil
}

// layers is a flag that takes a number of layers; not given or "all": all of them.
type layers struct{ p **int }

func (l *layers) String() string {
	if l.p == nil || *l.p == nil {
		return "all"
	}
	return strconv.Itoa(**l.p)
}

func (l *layers) Set(s string) error {
	if s == "all" {
		*l.p = nil
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("expected a number of layers")
	}
	if n < 0 { // as scripts for other programs say it
		*l.p = nil
		return nil
	}
	*l.p = &n
	return nil
}
