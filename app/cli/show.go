package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"ingot/app/library"
	"ingot/engine"
)

// modelReport is what show tells about a model.
type modelReport struct {
	Path         string     `json:"path"`
	Parts        []string   `json:"parts"`
	Name         string     `json:"name"`
	Architecture string     `json:"architecture"`
	Quantization string     `json:"quantization"`
	Parameters   int64      `json:"parameters"`
	Size         int64      `json:"size"`    // bytes
	Context      int        `json:"context"` // tokens it was trained for
	Vocabulary   int        `json:"vocabulary"`
	Layers       int        `json:"layers"`
	Embedding    int        `json:"embedding"`
	NoVocab      bool       `json:"no_vocabulary,omitempty"` // Vocabulary counts token ids, which have no texts
	HasTemplate  bool       `json:"has_template"`
	CanThink     bool       `json:"can_think"` // the template knows reasoning
	Tensors      int        `json:"tensors"`
	Types        []typeRow  `json:"types"`
	Problem      string     `json:"problem,omitempty"`
	Fit          *fitReport `json:"fit,omitempty"` // only of a model that can run
}

// typeRow sums the tensors of one type up.
type typeRow struct {
	Type    string `json:"type"`
	Tensors int    `json:"tensors"`
	Bytes   int64  `json:"bytes"`
}

// fitReport is the memory a model needs here, in bytes, with the context it would be opened with.
type fitReport struct {
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
	Need    int64  `json:"need"`
	Weights int64  `json:"weights"`
	Cache   int64  `json:"cache"`
	State   int64  `json:"state"`
	Context int    `json:"context"`
}

func runShow(_ context.Context, env *Env, args []string) error {
	fs := flags(env, "show")
	format := oneOf(fs.FlagSet, "o", "output `format`", "text", "json")
	template := fs.Bool("template", false, "print only the chat template")
	metadata := fs.Bool("metadata", false, "also list keys and values")
	tensors := fs.Bool("tensors", false, "also list the tensors")
	rest, err := fs.parse(args, 1, 1)
	if err != nil {
		return err
	}
	path, err := env.Resolve(rest[0])
	if err != nil {
		return err
	}
	if *template {
		text, err := engine.ModelTemplate(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.Stdout, strings.TrimSuffix(text, "\n"))
		return err
	}
	info, err := engine.Inspect(path)
	if err != nil {
		return err
	}
	contents, err := engine.ReadContents(path)
	if err != nil {
		return err
	}
	r := report(info, contents)
	if *format == "json" {
		return writeJSON(env.Stdout, reportWith(r, contents, *metadata, *tensors))
	}
	printReport(env.Stdout, r)
	if *metadata {
		fmt.Fprintln(env.Stdout)
		for _, kv := range contents.Metadata {
			fmt.Fprintf(env.Stdout, "%s = %s\n", kv.Key, valueText(kv.Value))
		}
	}
	if *tensors {
		fmt.Fprintln(env.Stdout)
		printTensors(env.Stdout, contents.Tensors)
	}
	return nil
}

func report(i *engine.FileInfo, c *engine.Contents) *modelReport {
	r := &modelReport{Path: i.Path, Parts: i.Parts, Name: i.Name, Architecture: i.Architecture, Quantization: i.Quantization,
		Parameters: i.Parameters, Size: i.FileBytes, Context: i.TrainContext, Vocabulary: i.Vocab, Layers: i.Layers,
		Embedding: i.Embedding, NoVocab: i.NoVocab, HasTemplate: i.HasTemplate, CanThink: i.CanThink, Tensors: i.Tensors, Problem: i.Problem}
	types := map[string]*typeRow{}
	for _, t := range c.Tensors {
		if types[t.Type] == nil {
			types[t.Type] = &typeRow{Type: t.Type}
		}
		types[t.Type].Tensors++
		types[t.Type].Bytes += t.Bytes
	}
	for _, t := range slices.SortedFunc(maps.Values(types), func(a, b *typeRow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Type, b.Type))
	}) {
		r.Types = append(r.Types, *t)
	}
	if i.Problem == "" {
		memory, _ := library.SystemMemory() // where it is not known the verdict says so
		f := library.FitOf(library.ModelInfo{FileBytes: i.FileBytes, Context: i.TrainContext, KVPerToken: i.KVBytes,
			StateBytes: i.StateBytes}, library.Load{}, memory)
		r.Fit = &fitReport{string(f.Verdict), f.Text, f.Need, f.Weights, f.Cache, f.State, f.Context}
	}
	return r
}

// reportWith adds the lists that were asked for.
func reportWith(r *modelReport, c *engine.Contents, metadata, tensors bool) any {
	type keyValue struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	type tensorRow struct {
		Name  string  `json:"name"`
		Type  string  `json:"type"`
		Shape []int64 `json:"shape"` // fastest dimension first
		Bytes int64   `json:"bytes"`
	}
	out := struct {
		*modelReport
		Metadata   []keyValue  `json:"metadata,omitempty"`
		TensorList []tensorRow `json:"tensor_list,omitempty"`
	}{modelReport: r}
	if metadata {
		for _, kv := range c.Metadata {
			out.Metadata = append(out.Metadata, keyValue{kv.Key, jsonValue(kv.Value)})
		}
	}
	if tensors {
		for _, t := range c.Tensors {
			out.TensorList = append(out.TensorList, tensorRow{t.Name, t.Type, t.Shape, t.Bytes})
		}
	}
	return out
}

func printReport(w io.Writer, r *modelReport) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, visible(fmt.Sprintf(format, args...)))
	}
	line("name", "%s", r.Name)
	line("file", "%s", r.Path)
	if len(r.Parts) > 1 {
		line("parts", "%d", len(r.Parts))
	}
	line("architecture", "%s", or(r.Architecture))
	line("quantization", "%s", or(r.Quantization))
	line("parameters", "%s", countText(r.Parameters))
	line("size", "%s", bytesText(r.Size))
	if r.Layers > 0 {
		line("layers", "%d, %d wide", r.Layers, r.Embedding)
	}
	if r.Context > 0 {
		line("context", "%d tokens", r.Context)
	}
	if r.NoVocab {
		line("vocabulary", "none: for benchmarks, and token numbers through the API (below %d)", r.Vocabulary)
	} else {
		line("vocabulary", "%d tokens", r.Vocabulary)
	}
	template := "none"
	if r.CanThink {
		template = "yes, with reasoning"
	} else if r.HasTemplate {
		template = "yes"
	}
	line("chat template", "%s", template)
	for i, row := range r.Types {
		line(map[bool]string{true: "tensors", false: ""}[i == 0], "%d %s, %s", row.Tensors, row.Type, bytesText(row.Bytes))
	}
	if r.Fit != nil {
		line("memory", "%s with a context of %d. %s", r.Fit.Verdict, r.Fit.Context, r.Fit.Text)
	}
	if r.Problem != "" {
		line("problem", "%s", r.Problem)
	}
	t.Flush()
}

func printTensors(w io.Writer, tensors []engine.TensorInfo) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TENSOR\tTYPE\tSHAPE\tSIZE")
	for _, x := range tensors {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", visible(x.Name), x.Type, strings.Trim(strings.ReplaceAll(fmt.Sprint(x.Shape), " ", " x "), "[]"), bytesText(x.Bytes))
	}
	t.Flush()
}
