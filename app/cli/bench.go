package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"ingot/engine"
)

// benchOptions are lists, as in llama-bench: every combination is one row.
type benchOptions struct {
	models                wordList
	prompts, gens, depths intList
	pairs                 pairList
	batches, ubatches     intList
	threads, gpuLayers    intList
	repetitions           int
	format                *string
	noWarmup, progress    bool
	limits, ops           bool
	on                    engine.Options // what is the same for all rows
}

func (o *benchOptions) register(fs *flag.FlagSet) {
	two := func(v flag.Value, short, long, usage string) {
		fs.Var(v, short, usage)
		fs.Var(v, long, usage)
	}
	two(&o.models, "m", "model", "`models` to measure, by commas; the same as MODEL")
	two(&o.prompts, "p", "n-prompt", "prompt lengths in `tokens`; 512 where not given, 0: no such test")
	two(&o.gens, "n", "n-gen", "answer lengths in `tokens`; 128 where not given, 0: no such test")
	fs.Var(&o.pairs, "pg", "a prompt and an answer measured as one, `pp,tg` tokens")
	two(&o.depths, "d", "n-depth", "`tokens` in the context before each test; 0 where not given")
	two(&o.batches, "b", "batch-size", "`tokens` handed to the engine at once; 2048 where not given")
	two(&o.ubatches, "ub", "ubatch-size", "most `tokens` computed at once; 512 where not given")
	two(&o.threads, "t", "threads", "`threads`; one a physical core where not given or 0")
	two(&o.gpuLayers, "ngl", "n-gpu-layers", "how many of the last `layers` the cards get, the head counted as one; all where not given")
	cacheFlags(fs, &o.on.CacheK, &o.on.CacheV)
	loadFlags(fs, &o.on.Load)
	cardFlags(fs, &o.on.Cards, &o.on.Moves, &o.on.TPS, &o.on.Split, &o.on.Shares)
	fs.IntVar(&o.repetitions, "r", 5, "`times` each test is run")
	fs.Var(fs.Lookup("r").Value, "repetitions", fs.Lookup("r").Usage)
	o.format = oneOf(fs, "o", "output `format`", "md", "csv", "json", "jsonl")
	fs.Var(fs.Lookup("o").Value, "output", fs.Lookup("o").Usage)
	fs.BoolVar(&o.on.NoRepack, "no-repack", false, "read weights where the file is mapped: starts sooner, runs more slowly")
	fs.BoolVar(&o.noWarmup, "no-warmup", false, "skip the run before the first measured one")
	fs.BoolVar(&o.limits, "limits", false, "measure what this machine can do at most, too, and say each result's share of it and of reading the weights alone, in turn with the tests; without a model: only that")
	fs.BoolVar(&o.ops, "ops", false, "say which operations the time went to (not as csv)")
	fs.BoolVar(&o.progress, "progress", false, "say on standard error what is being measured")
}

// benchTest is one row: gen tokens written after prompt tokens read after depth tokens held.
type benchTest struct {
	prompt, gen, depth     int
	batch, ubatch, threads int
	layers                 int // on the cards; -1: all
}

// name is what llama-bench calls it: pp512, tg128 @ d1024, pp512+tg128.
func (t benchTest) name() string {
	var parts []string
	if t.prompt > 0 {
		parts = append(parts, fmt.Sprintf("pp%d", t.prompt))
	}
	if t.gen > 0 {
		parts = append(parts, fmt.Sprintf("tg%d", t.gen))
	}
	name := strings.Join(parts, "+")
	if t.depth > 0 {
		name += fmt.Sprintf(" @ d%d", t.depth)
	}
	return name
}

func runBench(ctx context.Context, env *Env, args []string) error {
	var o benchOptions
	fs := flags(env, "bench")
	o.register(fs.FlagSet)
	fs.note = "-p, -n, -d, -b, -ub, -t and -ngl take several values: 1,2 or ranges such as 4-8, 0-512+128 and 1-8*2. They, -m and -pg may be\n" +
		"given again, which adds to them. Every combination is measured."
	models, err := fs.parse(args, 0, -1)
	if err != nil {
		return err
	}
	o.models = append(o.models, models...)
	if len(o.models) == 0 {
		if !o.limits {
			return fs.misuse("a model is missing")
		}
		fs.Visit(func(f *flag.Flag) {
			if !slices.Contains([]string{"limits", "t", "threads", "o", "output"}, f.Name) {
				err = fs.misuse("--limits without a model takes -t and -o")
			}
		})
		if err != nil {
			return err
		}
	}
	if o.ops && *o.format == "csv" {
		return fs.misuse("--ops prints md, json or jsonl")
	}
	if o.repetitions < 1 {
		return fs.misuse(fmt.Sprintf("-r is %d, expected at least 1", o.repetitions))
	}
	tests, err := o.tests()
	if err != nil {
		return fs.misuse(sentence(err))
	}
	paths := make([]string, len(o.models)) // all of them before the first is measured
	for i, m := range o.models {
		if paths[i], err = env.Resolve(m); err != nil {
			return err
		}
	}
	var limits []*engine.Limits // one a number of threads; measured while no model takes memory
	if o.limits {
		for _, t := range o.threads.or(0) {
			if t = cmp.Or(t, engine.Cores()); limitsOf(limits, t) != nil {
				continue
			}
			l, err := engine.MeasureLimits(ctx, t)
			if err != nil {
				return err
			}
			limits = append(limits, l)
		}
		if len(paths) == 0 || *o.format == "md" {
			if err := printLimits(env.Stdout, *o.format, limits); err != nil || len(paths) == 0 {
				return err
			}
			fmt.Fprintln(env.Stdout)
		}
	}
	out := newBenchPrinter(env, &o)
	defer out.end() // after an error too: a list begun is ended
	for _, path := range paths {
		if err := benchModel(ctx, env, path, &o, tests, limits, out); err != nil {
			return err
		}
	}
	return nil
}

// longestBench is the longest context of a test in tokens; far beyond what memory holds.
const longestBench = 1 << 30

// tests lists the combinations, grouped so that a model is opened as seldom as possible.
func (o *benchOptions) tests() ([]benchTest, error) {
	for _, l := range []struct {
		name   string
		values intList
		least  int
	}{{"p", o.prompts, 0}, {"n", o.gens, 0}, {"d", o.depths, 0}, {"b", o.batches, 1}, {"ub", o.ubatches, 1}, {"t", o.threads, 0}, {"ngl", o.gpuLayers, -1}} {
		for _, n := range l.values {
			if n < l.least {
				return nil, fmt.Errorf("-%s is %d, expected at least %d", l.name, n, l.least)
			}
		}
	}
	var list []benchTest
	for _, b := range o.batches.or(2048) {
		for _, ub := range o.ubatches.or(512) {
			for _, t := range o.threads.or(0) {
				for _, ngl := range o.gpuLayers.or(-1) {
					for _, d := range o.depths.or(0) {
						list = append(list, o.lengths(benchTest{depth: d, batch: b, ubatch: ub, threads: t, layers: ngl})...)
					}
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("nothing to measure: -p, -n and -pg are all 0")
	}
	for _, t := range list {
		if max(t.depth, t.prompt, t.gen) > longestBench || t.depth+t.prompt+t.gen > longestBench {
			return nil, fmt.Errorf("-p, -n, -d and -pg make %d tokens at most", longestBench)
		}
		on := o.opened(t, t.depth+t.prompt+t.gen)
		if err := on.Check(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// lengths are the rows that differ in what is read and written alone.
func (o *benchOptions) lengths(base benchTest) (list []benchTest) {
	add := func(prompt, gen int) {
		if t := base; prompt > 0 || gen > 0 {
			t.prompt, t.gen = prompt, gen
			list = append(list, t)
		}
	}
	for _, p := range o.prompts.or(512) {
		add(p, 0)
	}
	for _, g := range o.gens.or(128) {
		add(0, g)
	}
	for _, pg := range o.pairs {
		add(pg[0], pg[1])
	}
	return list
}

// opened is what an engine is opened with for a row.
func (o *benchOptions) opened(t benchTest, cells int) engine.Options {
	on := o.on
	on.Threads, on.UBatch, on.Context, on.Profile = t.threads, t.ubatch, cells, o.ops
	if t.layers >= 0 {
		on.Layers = &t.layers
	}
	return on
}

func benchModel(ctx context.Context, env *Env, path string, o *benchOptions, tests []benchTest, limits []*engine.Limits, out *benchPrinter) error {
	model, err := describeForBench(path)
	if err != nil {
		return err
	}
	for first := true; len(tests) > 0; first = false {
		group, cells := 0, 0
		for group < len(tests) {
			t := tests[group]
			if t.ubatch != tests[0].ubatch || t.threads != tests[0].threads || t.layers != tests[0].layers {
				break
			}
			cells = max(cells, t.depth+t.prompt+t.gen)
			group++
		}
		e, err := engine.Open(path, o.opened(tests[0], cells))
		if err != nil {
			return err
		}
		if first { // the others have the same lengths
			warnOfContext(env, e.Info())
		}
		warnOfThreads(env, e.Info())
		r, err := newBenchRun(ctx, e)
		if err != nil {
			e.Close()
			return err
		}
		for i, t := range tests[:group] {
			if o.progress {
				fmt.Fprintf(env.Stderr, "ingot: bench %d/%d: %s\n", i+1, group, t.name())
			}
			row := benchRow{model: model, test: t, began: time.Now().UTC(), limits: limitsOf(limits, e.Info().Threads), level: e.Info().Level, on: &o.on}
			row.test.threads = e.Info().Threads
			row.topology, row.cards = e.Info().Topology, e.Status().Cards
			if err = r.measure(t, o, &row); err != nil {
				e.Close()
				return fmt.Errorf("%s: %w", t.name(), err)
			}
			row.bytes, _ = e.Work(1)
			_, row.macs = e.Work(t.prompt)
			out.row(&row)
		}
		e.Close()
		tests = tests[group:]
	}
	return nil
}

// measure runs one test and puts the time of each repetition, and of its operations, into the row. Every repetition starts
// from the same state: depth tokens held, which are read once and gone back to, and which the next test goes on from.
func (r *benchRun) measure(t benchTest, o *benchOptions, row *benchRow) error {
	r.batch = t.batch
	r.held = r.s.Rewind(min(r.held, t.depth))
	if !o.noWarmup {
		if err := r.prompt(t.prompt); err != nil {
			return err
		}
		if err := r.generate(min(t.gen, 1)); err != nil {
			return err
		}
	}
	var read float64 // before the repetition
	if o.limits {
		read = r.e.ReadRate()
	}
	for range o.repetitions {
		if err := r.prompt(t.depth - r.s.Rewind(min(r.held, t.depth))); err != nil {
			return err
		}
		r.held = t.depth
		r.s.Snapshot()
		r.e.Profile() // of this repetition only
		start := time.Now()
		if err := r.prompt(t.prompt); err != nil {
			return err
		}
		if err := r.generate(t.gen); err != nil {
			return err
		}
		row.nanos = append(row.nanos, max(time.Since(start).Nanoseconds(), 1))
		row.addOps(r.e.Profile())
		if o.limits {
			before := read
			read = r.e.ReadRate()
			row.reads = append(row.reads, (before+read)/2)
		}
	}
	return nil
}

// benchRun feeds a session random tokens: what they are does not change the work.
type benchRun struct {
	ctx    context.Context
	e      *engine.Engine
	s      *engine.Session // ends with the engine
	batch  int
	vocab  int32
	held   int // tokens that a test left in the context for the next
	random *rand.Rand
}

func newBenchRun(ctx context.Context, e *engine.Engine) (*benchRun, error) {
	s, err := e.NewSession()
	return &benchRun{ctx: ctx, e: e, s: s, vocab: int32(e.Info().Vocab), random: rand.New(rand.NewPCG(1, 2))}, err
}

// prompt reads n tokens, a batch at a time.
func (r *benchRun) prompt(n int) error {
	for n > 0 {
		tokens := make([]int32, min(n, r.batch))
		for i := range tokens {
			tokens[i] = r.random.Int32N(r.vocab)
		}
		if err := r.feed(tokens); err != nil {
			return err
		}
		n -= len(tokens)
	}
	return nil
}

// generate feeds n tokens one by one and waits for the logits after each, as an answer does.
func (r *benchRun) generate(n int) error {
	token := []int32{0}
	for range n {
		token[0] = r.random.Int32N(r.vocab)
		if err := r.feed(token); err != nil {
			return err
		}
	}
	return nil
}

func (r *benchRun) feed(tokens []int32) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return r.s.Feed(tokens, func([]float32) {})
}

// mean and deviation are those of a sample: the deviation of one value is 0.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m, sum := mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}
