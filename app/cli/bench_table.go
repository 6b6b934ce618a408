package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ingot/engine"
)

// benchRow is one measured test.
type benchRow struct {
	model    *benchModelInfo
	cards    []engine.Card // in the order of the topology
	topology string
	on       *engine.Options
	test     benchTest
	began    time.Time
	nanos    []int64 // of each repetition
	level    string  // of the kernels
	// With --limits: what the machine can do; the bytes of weights that a token reads and the multiply-adds of the prompt.
	limits      *engine.Limits
	bytes, macs int64
	reads       []float64       // bytes a second of reading alone, around each repetition
	ops         []engine.OpTime // with --ops, of all repetitions
}

// benchModelInfo is what a row says about its model.
type benchModelInfo struct {
	path, kind        string
	weights           string // the quantization's name
	bytes, parameters int64  // of the tensors
}

func describeForBench(path string) (*benchModelInfo, error) {
	info, err := engine.Inspect(path)
	if err != nil {
		return nil, err
	}
	contents, err := engine.ReadContents(path)
	if err != nil {
		return nil, err
	}
	m := &benchModelInfo{path: path, weights: info.Quantization, parameters: info.Parameters}
	for _, t := range contents.Tensors {
		m.bytes += t.Bytes
	}
	size := countText(info.Parameters)
	for _, kv := range contents.Metadata {
		if label, ok := kv.Value.(string); ok && kv.Key == "general.size_label" && label != "" {
			size = label
		}
	}
	m.kind = strings.Join([]string{info.Architecture, size, info.Quantization}, " ")
	return m, nil
}

// backend names the kinds of cards as llama-bench does: CPU, HIP, CUDA.
func (r *benchRow) backend() string {
	var kinds []string
	for _, c := range r.cards {
		kind, _, _ := strings.Cut(c.Name, ":")
		if kind = strings.ToUpper(kind); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return strings.Join(kinds, ",")
}

// described are the descriptions of the cards of a kind, or of all others.
func (r *benchRow) described(processors bool) string {
	var texts []string
	for _, c := range r.cards {
		if strings.HasPrefix(c.Name, "cpu") == processors && !slices.Contains(texts, c.Description) {
			texts = append(texts, c.Description)
		}
	}
	return strings.Join(texts, ", ")
}

// layers is how many the cards have: all of them is -1, and a processor alone has none on cards.
func (r *benchRow) layers() int {
	if r.test.layers < 0 && r.backend() == "CPU" && len(r.cards) == 1 {
		return 0
	}
	return r.test.layers
}

// names are the cards', as llama-bench lists devices.
func (r *benchRow) names() string {
	var all []string
	for _, c := range r.cards {
		all = append(all, c.Name)
	}
	return strings.Join(all, "/")
}

// rates are the repetitions' tokens a second.
func (r *benchRow) rates() []float64 {
	out := make([]float64, len(r.nanos))
	for i, n := range r.nanos {
		out[i] = float64(r.test.prompt+r.test.gen) * 1e9 / float64(n)
	}
	return out
}

func (r *benchRow) times() []float64 {
	out := make([]float64, len(r.nanos))
	for i, n := range r.nanos {
		out[i] = float64(n)
	}
	return out
}

// field is one column of the csv and json forms.
type field struct {
	name  string
	value any
}

// fields are llama-bench's, in its order. Those about what this program does not have say so: no mask of cores. Attention is
// computed blockwise (flash) always.
func (r *benchRow) fields(version string) []field {
	t, m, o := r.test, r.model, r.on
	list := []field{
		{"build_commit", buildName(version)}, {"build_number", 0}, {"cpu_info", r.described(true)}, {"gpu_info", r.described(false)}, {"backends", r.backend()},
		{"model_filename", m.path}, {"model_type", m.kind}, {"model_size", m.bytes}, {"model_n_params", m.parameters},
		{"n_batch", t.batch}, {"n_ubatch", t.ubatch}, {"n_threads", t.threads}, {"cpu_mask", "0x0"}, {"cpu_strict", false}, {"poll", 0},
		{"type_k", cmp.Or(o.CacheK, "f16")}, {"type_v", cmp.Or(o.CacheV, "f16")}, {"n_gpu_layers", r.layers()}, {"n_cpu_moe", 0}, {"split_mode", r.split()}, {"main_gpu", 0},
		{"no_kv_offload", false}, {"flash_attn", 1}, {"devices", r.names()}, {"tensor_split", sharesText(o.Shares)},
		{"tensor_buft_overrides", cmp.Or(strings.Join(o.Moves, ","), "none")},
		{"load_mode", cmp.Or(o.Load, "mmap")}, {"embeddings", false}, {"no_op_offload", 0}, {"no_host", false}, {"fit_target", 0}, {"fit_min_ctx", 0},
		{"n_prompt", t.prompt}, {"n_gen", t.gen}, {"n_depth", t.depth}, {"test_time", r.began.Format("2006-01-02T15:04:05Z")},
		{"avg_ns", int64(mean(r.times()))}, {"stddev_ns", int64(deviation(r.times()))},
		{"avg_ts", six(mean(r.rates()))}, {"stddev_ts", six(deviation(r.rates()))},
		{"repack", !o.NoRepack}, // not of llama-bench
	}
	if r.limits != nil {
		list = append(list, r.limitFields()...)
	}
	return list
}

// split is the split mode that the cards stand in.
func (r *benchRow) split() string {
	switch {
	case len(r.cards) < 2:
		return "none"
	case strings.Contains(r.topology, "lanes"):
		return "tensor"
	}
	return "layer"
}

// sharesText is what -ts says, as llama-bench writes it.
func sharesText(shares []float64) string {
	if len(shares) == 0 {
		return "0.00"
	}
	var texts []string
	for _, x := range shares {
		texts = append(texts, fmt.Sprintf("%.2f", x))
	}
	return strings.Join(texts, "/")
}

// six is a number with six decimals, in json too.
func six(x float64) json.Number { return json.Number(fmt.Sprintf("%.6f", x)) }

// buildName is the commit, or the version of a build that knows none.
func buildName(version string) string {
	if c := commit(); c != "unknown" {
		return c
	}
	return version
}

// benchPrinter prints rows as they are measured, in the formats of llama-bench.
type benchPrinter struct {
	w       io.Writer
	format  string
	version string
	limits  bool
	columns []column
	varied  []column // of what differs between rows beside the test
	rows    int
	ops     []*benchRow // whose operations are listed at the end of the md form
}

// column is one of the md form; width below 0 aligns left.
type column struct {
	name  string
	width int
	text  func(*benchRow) string
}

func newBenchPrinter(env *Env, o *benchOptions) *benchPrinter {
	number := func(get func(benchTest) int) func(*benchRow) string {
		return func(r *benchRow) string { return fmt.Sprint(get(r.test)) }
	}
	p := &benchPrinter{w: env.Stdout, format: *o.format, version: env.Version, limits: o.limits}
	several := func(n int, c column) {
		if n > 1 {
			p.varied = append(p.varied, c)
		}
	}
	listed := func(values intList, c column) {
		if len(values) > 0 {
			p.columns = append(p.columns, c)
		}
		several(len(values), c)
	}
	given := func(name, value, usual string) {
		if value != "" && value != usual {
			p.columns = append(p.columns, column{name, max(len(name), len(value)), func(*benchRow) string { return value }})
		}
	}
	threads := column{"threads", 7, number(func(t benchTest) int { return t.threads })}
	several(len(o.models), column{"model", 0, func(r *benchRow) string { return filepath.Base(r.model.path) }})
	several(len(o.threads), threads)
	p.columns = []column{
		{"model", -30, func(r *benchRow) string { return r.model.kind }},
		{"size", 10, func(r *benchRow) string { return binaryText(r.model.bytes) }},
		{"params", 10, func(r *benchRow) string { return paramsText(r.model.parameters) }},
		{"backend", -10, (*benchRow).backend},
		threads,
	}
	listed(o.batches, column{"n_batch", 7, number(func(t benchTest) int { return t.batch })})
	listed(o.ubatches, column{"n_ubatch", 8, number(func(t benchTest) int { return t.ubatch })})
	listed(o.gpuLayers, column{"ngl", 3, number(func(t benchTest) int { return t.layers })})
	given("type_k", o.on.CacheK, "f16")
	given("type_v", o.on.CacheV, "f16")
	given("ts", sharesText(o.on.Shares), sharesText(nil))
	given("ot", strings.Join(o.on.Moves, ","), "")
	given("lm", o.on.Load, "mmap")
	if o.on.NoRepack {
		given("repack", "no", "")
	}
	if len(o.on.Cards) > 0 || o.on.TPS > 1 {
		p.columns = append(p.columns, column{"topology", -36, func(r *benchRow) string { return strings.ReplaceAll(r.topology, " | ", " / ") }})
	}
	p.columns = append(p.columns,
		column{"test", 15, func(r *benchRow) string { return r.test.name() }},
		column{"t/s", 20, func(r *benchRow) string { return fmt.Sprintf("%.2f ± %.2f", mean(r.rates()), deviation(r.rates())) }})
	if o.limits {
		p.columns = append(p.columns, column{"work", 13, (*benchRow).workText}, column{"of limit", 8, (*benchRow).shareText},
			column{"reading", 9, (*benchRow).readText}, column{"of reading", 10, (*benchRow).readShareText})
	}
	return p
}

func (p *benchPrinter) begin() {
	switch p.format {
	case "csv":
		var names []string
		r := &benchRow{model: &benchModelInfo{}, on: &engine.Options{}}
		if p.limits {
			r.limits = &engine.Limits{}
		}
		for _, f := range r.fields("") {
			names = append(names, f.name)
		}
		fmt.Fprintln(p.w, strings.Join(names, ","))
	case "json":
		fmt.Fprintln(p.w, "[")
	case "md":
		p.line(func(c column) string { return c.name })
		p.line(func(c column) string {
			if c.width < 0 {
				return strings.Repeat("-", -c.width)
			}
			return strings.Repeat("-", c.width-1) + ":"
		})
	}
}

// line prints one row of the md form.
func (p *benchPrinter) line(text func(column) string) {
	fmt.Fprint(p.w, "|")
	for _, c := range p.columns {
		fmt.Fprintf(p.w, " %*s |", c.width, text(c))
	}
	fmt.Fprintln(p.w)
}

func (p *benchPrinter) row(r *benchRow) {
	if p.rows == 0 {
		p.begin()
	}
	switch p.format {
	case "md":
		p.line(func(c column) string { return c.text(r) })
		if r.ops != nil {
			p.ops = append(p.ops, r)
		}
	case "csv":
		var values []string
		for _, f := range r.fields(p.version) {
			text := fmt.Sprint(f.value)
			switch v := f.value.(type) {
			case nil:
				text = ""
			case bool:
				text = map[bool]string{true: "1", false: "0"}[v]
			}
			values = append(values, `"`+strings.ReplaceAll(text, `"`, `""`)+`"`)
		}
		fmt.Fprintln(p.w, strings.Join(values, ","))
	case "json":
		if p.rows > 0 {
			fmt.Fprintln(p.w, ",")
		}
		fmt.Fprintf(p.w, "  {\n    %s\n  }", strings.Join(r.pairs(p.version), ",\n    "))
	case "jsonl":
		fmt.Fprintf(p.w, "{%s}\n", strings.Join(r.pairs(p.version), ", "))
	}
	p.rows++
}

// pairs are the members of a row's json object.
func (r *benchRow) pairs(version string) []string {
	var list []string
	fields := append(r.fields(version), field{"samples_ns", r.nanos}, field{"samples_ts", r.rates()})
	if r.ops != nil {
		fields = append(fields, field{"ops", r.opRows()})
	}
	for _, f := range fields {
		value, err := json.Marshal(f.value)
		if err != nil {
			panic(err) // numbers and strings only
		}
		list = append(list, fmt.Sprintf("%q: %s", f.name, value))
	}
	return list
}

func (p *benchPrinter) end() {
	if p.rows == 0 {
		return
	}
	switch p.format {
	case "json":
		fmt.Fprintln(p.w, "\n]")
	case "md":
		if p.limits {
			fmt.Fprint(p.w, limitLegend)
		}
		for _, r := range p.ops {
			title := r.test.name()
			for _, c := range p.varied {
				title += fmt.Sprintf(", %s %s", c.name, c.text(r))
			}
			r.printOps(p.w, title)
		}
		fmt.Fprintf(p.w, "\nbuild: %s (%d)\n", buildName(p.version), 0)
	}
}
