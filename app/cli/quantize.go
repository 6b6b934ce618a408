package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"ingot/engine"
)

type quantizeOptions struct {
	engine.QuantizeOptions
	threads count
}

func (o *quantizeOptions) register(fs *flag.FlagSet) {
	fs.BoolVar(&o.Pure, "pure", false, "one type for every matrix, no mix")
	fs.StringVar(&o.Output, "output-type", "", "`type` of output.weight")
	fs.Var(fs.Lookup("output-type").Value, "output-tensor-type", fs.Lookup("output-type").Usage)
	fs.StringVar(&o.Embedding, "token-embedding-type", "", "`type` of token_embd.weight")
	fs.Var((*tensorTypes)(&o.Tensors), "tensor-type", "type of the tensors whose names match, `pattern=type`; may be given several times")
	fs.BoolVar(&o.Requantize, "allow-requantize", false, "take a file that is quantized already; what it lost is lost twice")
	fs.BoolVar(&o.Overwrite, "force", false, "write over a file that is there")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what each tensor would become, write nothing")
	fs.Var(&o.threads, "t", "`threads`; 0: one a physical core")
	fs.Var(&o.threads, "threads", "`threads`; 0: one a physical core")
}

// tensorTypes is a flag that adds PATTERN=TYPE.
type tensorTypes []engine.TensorType

func (t *tensorTypes) String() string { return "" }

func (t *tensorTypes) Set(s string) error {
	i := strings.LastIndex(s, "=")
	if i < 1 || i == len(s)-1 {
		return errors.New("expected PATTERN=TYPE")
	}
	*t = append(*t, engine.TensorType{Pattern: s[:i], Type: s[i+1:]})
	return nil
}

func runQuantize(ctx context.Context, env *Env, args []string) error {
	var o quantizeOptions
	fs := flags(env, "quantize")
	o.register(fs.FlagSet)
	fs.note = "TYPE is one of " + strings.Join(engine.QuantizeTypes(), ", ") + ".\nA tensor's type has no _S, _M or _L: Q4_K."
	rest, err := fs.parse(args, 2, 3)
	if err != nil {
		return err
	}
	o.Threads = int(o.threads)
	out, to := "", rest[len(rest)-1]
	switch {
	case len(rest) == 3:
		out = rest[1]
	case !o.DryRun:
		return fs.misuse("an argument is missing")
	}
	o.Type = to
	if err := o.Check(); err != nil {
		return fs.misuse(sentence(err))
	}
	in, err := env.Resolve(rest[0])
	if err != nil {
		return err
	}
	show := &progressLine{env: env, on: isTerminal(env.Stderr)}
	o.Progress = func(p engine.QuantizeProgress) {
		show.print(float64(p.Done)/float64(p.Total), fmt.Sprintf("%s of %s", bytesText(p.Done), bytesText(p.Total)), p.Tensor)
	}
	begin := time.Now()
	q, err := engine.Quantize(ctx, in, out, o.QuantizeOptions)
	show.clear()
	switch {
	case errors.Is(err, engine.ErrQuantized):
		return fmt.Errorf("%w; --allow-requantize takes it nevertheless", err)
	case errors.Is(err, engine.ErrExists):
		return fmt.Errorf("%w; --force replaces it", err)
	case err != nil:
		return err
	}
	wrote := ""
	if o.DryRun {
		printSteps(env, q)
	} else {
		wrote = fmt.Sprintf(", written to %s in %.1f s", visible(out), time.Since(begin).Seconds())
	}
	fmt.Fprintf(env.Stdout, "%s: %s to %s, %.2f bits a weight%s\n", strings.ToUpper(to), bytesText(q.Before), bytesText(q.After), float64(q.After)*8/float64(max(q.Parameters, 1)), wrote)
	if q.Fallbacks > 0 {
		fmt.Fprintf(env.Stderr, "ingot: another type for %s, whose rows are not whole blocks of the chosen one\n", counted(q.Fallbacks, "tensor"))
	}
	return nil
}

// printSteps lists what becomes of each tensor.
func printSteps(env *Env, q *engine.Quantized) {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENSOR\tSHAPE\tFROM\tTO\tBEFORE\tAFTER")
	for _, t := range q.Tensors {
		to, note := t.To, ""
		if t.From == t.To {
			to = "as it is"
		} else if t.Fallback {
			note = "\trows are not whole blocks"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s%s\n", visible(t.Name), shapeText(t.Shape), t.From, to, bytesText(t.Before), bytesText(t.After), note)
	}
	w.Flush()
}

func shapeText(shape []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", "x"), "[]")
}

// progressLine is one line of a terminal that is written anew, some ten times a second.
type progressLine struct {
	env  *Env
	on   bool
	last time.Time
}

func (p *progressLine) print(share float64, parts ...string) {
	if !p.on || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last = time.Now()
	fmt.Fprintf(p.env.Stderr, "\r\x1b[K%3.0f%%  %s", 100*share, visible(strings.Join(parts, "  ")))
}

func (p *progressLine) clear() {
	if p.on && !p.last.IsZero() {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
	}
}
