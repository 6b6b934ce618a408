package engine

import (
	"context"
	"fmt"
	"regexp"

	"ingot/engine/gguf"
	"ingot/engine/quant"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
)

var (
	// ErrSameFile is returned when Quantize would write over its input.
	ErrSameFile = quant.ErrSameFile
	// ErrExists is returned when Quantize would write over a file, without QuantizeOptions.Overwrite.
	ErrExists = quant.ErrExists
	// ErrDiskFull is returned when there is no room for the output. Nothing half written stays.
	ErrDiskFull = quant.ErrDiskFull
	// ErrQuantized is returned when a file that is quantized would be so again, without QuantizeOptions.Requantize.
	ErrQuantized = quant.ErrQuantized
)

// QuantizeOptions says what Quantize writes. Only Type must be set; types are names such as "Q6_K", in any case.
type QuantizeOptions struct {
	Type       string       // a mix: one of QuantizeTypes
	Pure       bool         // the mix's main type for every matrix that is quantized at all
	Output     string       // type of output.weight; "": what the mix says
	Embedding  string       // type of token_embd.weight
	Tensors    []TensorType // types by name; the first that matches counts, before the mix
	Requantize bool         // take a file that is quantized already; what it lost is lost twice
	Overwrite  bool         // replace a file that is there
	Threads    int          // 0: one a physical core
	Level      string       // instruction set; "": INGOT_CPU, else the best
	DryRun     bool         // say what would be done, write nothing
	// Progress is called after each run of bytes, from the goroutine that called Quantize.
	Progress func(QuantizeProgress)
}

// TensorType gives a type to the tensors whose names match a regular expression.
type TensorType struct{ Pattern, Type string }

// QuantizeProgress is how far Quantize is, in bytes of the output's tensors.
type QuantizeProgress struct {
	Tensor      string
	Done, Total int64
}

// Quantized is what Quantize wrote, or would.
type Quantized struct {
	Tensors       []QuantizedTensor // in the order of the file
	Parameters    int64
	Before, After int64 // bytes of all tensors
	Fallbacks     int   // tensors whose rows the blocks of the chosen type do not divide
}

// QuantizedTensor is what becomes of one tensor.
type QuantizedTensor struct {
	Name          string
	Shape         []int64 // fastest dimension first
	From, To      string  // types
	Before, After int64   // bytes
	Fallback      bool    // another type than chosen, because its blocks do not divide a row
}

// QuantizeTypes lists the mixes that QuantizeOptions.Type names.
func QuantizeTypes() []string { return quant.MixNames() }

// Quantize writes the model at in, of one file or several, to out as one file in other types. The output appears
// whole or not at all; its bytes depend neither on Threads nor on Level. It wraps ErrSameFile, ErrExists, ErrDiskFull, ErrQuantized.
func Quantize(ctx context.Context, in, out string, o QuantizeOptions) (*Quantized, error) {
	qo, err := o.parse()
	if err != nil {
		return nil, err
	}
	if qo.Level, err = levelOf(o.Level); err != nil {
		return nil, err
	}
	f, err := gguf.Open(in)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer watchFile(f)()
	steps, err := quant.Choose(f, qo)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in, err)
	}
	if o.DryRun {
		err = quant.Check(steps, o.Requantize)
	} else {
		err = quant.WriteFile(ctx, f, steps, out, qo)
	}
	if err != nil {
		return nil, fmt.Errorf("quantize %s: %w", in, err)
	}
	q := &Quantized{}
	for _, s := range steps {
		t := s.Tensor
		q.Tensors = append(q.Tensors, QuantizedTensor{t.Name, t.Shape, t.Type.String(), s.To.String(), t.Bytes(), s.Size, s.Fallback})
		n, _ := tensor.Elements(t.Shape)
		q.Parameters += n
		q.Before += t.Bytes()
		q.After += s.Size
		if s.Fallback {
			q.Fallbacks++
		}
	}
	return q, nil
}

// Check refuses names that no type has and patterns that are none.
func (o *QuantizeOptions) Check() error {
	_, err := o.parse()
	return err
}

// parse reads the names.
func (o *QuantizeOptions) parse() (*quant.Options, error) {
	mix, err := quant.ParseMix(o.Type)
	if err != nil {
		return nil, err
	}
	q := &quant.Options{Mix: mix, Pure: o.Pure, Requantize: o.Requantize, Overwrite: o.Overwrite, Threads: o.Threads}
	if o.Threads < 1 {
		q.Threads = cpu.Cores()
	}
	for _, n := range []struct {
		name string
		to   **tensor.Type
	}{{o.Output, &q.Output}, {o.Embedding, &q.Embedding}} {
		if n.name == "" {
			continue
		}
		t, err := parseWritable(n.name)
		if err != nil {
			return nil, err
		}
		*n.to = &t
	}
	for _, tt := range o.Tensors {
		t, err := parseWritable(tt.Type)
		if err != nil {
			return nil, err
		}
		p, err := regexp.Compile(tt.Pattern)
		if err != nil {
			return nil, fmt.Errorf("tensor names %q: %w", tt.Pattern, err)
		}
		q.Overrides = append(q.Overrides, quant.Override{Pattern: p, Type: t})
	}
	if o.Progress != nil {
		q.Progress = func(s quant.Step, done, total int64) { o.Progress(QuantizeProgress{s.Tensor.Name, done, total}) }
	}
	return q, nil
}

// parseWritable reads the name of a type that can be written.
func parseWritable(name string) (tensor.Type, error) {
	t, err := tensor.Parse(name)
	if err == nil && !t.Readable() {
		err = fmt.Errorf("tensor type %v cannot be written", t)
	}
	if err != nil {
		err = fmt.Errorf("%w: expected one of %s", err, typeNames())
	}
	return t, err
}
