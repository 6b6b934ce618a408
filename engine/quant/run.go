package quant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"ingot/engine/gguf"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
	"ingot/kernels/quant"
)

// Options says how a file is written anew.
type Options struct {
	Mix        Mix
	Pure       bool         // Mix.Base for every matrix that is quantized at all
	Output     *tensor.Type // of output.weight, nil: what the mix says
	Embedding  *tensor.Type // of token_embd.weight
	Overrides  []Override   // the first that matches counts, before the mix
	Requantize bool         // the input may be quantized already
	Overwrite  bool         // the output may replace a file
	Threads    int          // 0: one a core
	Level      cpu.Level
	// Progress is told of the bytes of tensors written, of all that will be; from the goroutine that called Run.
	Progress func(s Step, done, total int64)
}

var (
	// ErrQuantized is returned when a tensor would be quantized a second time without Options.Requantize.
	ErrQuantized = errors.New("already quantized")
	// ErrUnreadable is returned when a tensor to be converted is of a type without a decoder.
	ErrUnreadable = errors.New("cannot be converted")
)

// sliceValues is how many values are converted at once: a multiple of every block; 1 MB of f32.
const sliceValues = 1 << 18

// Check returns why the steps cannot be taken.
func Check(steps []Step, requantize bool) error {
	for _, s := range steps {
		t := s.Tensor
		switch {
		case s.To == t.Type:
		case !t.Type.Readable():
			return fmt.Errorf("tensor %q is %v and %w", t.Name, t.Type, ErrUnreadable)
		case !s.To.Readable():
			return fmt.Errorf("tensor %q to %v: %w", t.Name, s.To, ErrUnreadable)
		case t.Type.Quantized() && !requantize:
			return fmt.Errorf("tensor %q is %w, as %v", t.Name, ErrQuantized, t.Type)
		}
	}
	return nil
}

// Run writes f to w with its tensors as the steps say. Memory is bounded by a few slices a thread. The bytes do not
// depend on the number of threads. Quantization and split keys of the metadata are replaced.
func Run(ctx context.Context, f *gguf.File, steps []Step, w io.Writer, o *Options) error {
	if err := Check(steps, o.Requantize); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := start(ctx, steps, o)
	defer func() { // the threads read the mapped file: none may outlive this call
		cancel()
		p.threads.Wait()
	}()
	var done, total int64
	for _, s := range steps {
		total += s.Size
	}
	tensors := make([]gguf.WriteTensor, len(steps))
	for i, s := range steps {
		tensors[i] = gguf.WriteTensor{Name: s.Tensor.Name, Type: s.To, Shape: s.Tensor.Shape, From: func(w io.Writer) error {
			for left := s.Size; left > 0; {
				b, release, err := p.next(ctx)
				if err != nil {
					return err
				}
				_, err = w.Write(b)
				release()
				if err != nil {
					return err
				}
				left -= int64(len(b))
				done += int64(len(b))
				if o.Progress != nil {
					o.Progress(s, done, total)
				}
			}
			return nil
		}}
	}
	return gguf.Write(w, metadata(f, o.Mix), tensors)
}

// metadata is the file's, as that of one file of the mix's type.
func metadata(f *gguf.File, mix Mix) *gguf.Meta {
	m := gguf.NewMeta()
	for _, k := range f.Meta().Keys() {
		v, _ := f.Meta().Value(k)
		m.Set(k, v)
	}
	for _, k := range []string{"split.no", "split.count", "split.tensors.count"} {
		m.Delete(k)
	}
	m.Set("general.quantization_version", uint32(2)) // of the block formats
	m.Set("general.file_type", mix.FileType)
	return m
}

// slice is a run of one tensor's values on its way from packed to packed.
type slice struct {
	step   *Step
	from   int64 // first value
	values int64
	out    []byte
	buffer []byte // what out lies in; nil for a slice that is copied
	err    error
	done   chan struct{} // closed once out or err is set
}

// pipeline converts slices with several threads, and hands them out in the order of the file. Buffers go round: their
// number bounds how far the threads are ahead of the writer.
type pipeline struct {
	work, order chan *slice
	free        chan []byte
	level       cpu.Level
	threads     sync.WaitGroup
}

func start(ctx context.Context, steps []Step, o *Options) *pipeline {
	threads := runtime.GOMAXPROCS(0) // more would only take memory
	if o.Threads > 0 {
		threads = min(threads, o.Threads)
	}
	buffers := 2*threads + 2
	p := &pipeline{work: make(chan *slice, buffers), order: make(chan *slice, buffers), free: make(chan []byte, buffers), level: o.Level}
	for range buffers {
		p.free <- nil // made when first used
	}
	p.threads.Add(1 + threads)
	go func() {
		defer p.threads.Done()
		defer close(p.work)
		defer close(p.order)
		p.cut(ctx, steps)
	}()
	for range threads {
		go func() {
			defer p.threads.Done()
			values := make([]float32, sliceValues)
			for s := range p.work {
				if s.err = ctx.Err(); s.err == nil {
					s.err = p.convert(s, values)
				}
				close(s.done)
			}
		}()
	}
	return p
}

// cut sends every slice to the threads and, in order, to the writer.
func (p *pipeline) cut(ctx context.Context, steps []Step) {
	for i := range steps {
		s := &steps[i]
		n, _ := tensor.Elements(s.Tensor.Shape) // the size was computed from it
		for from := int64(0); from < n; from += sliceValues {
			piece := &slice{step: s, from: from, values: min(sliceValues, n-from), done: make(chan struct{})}
			select {
			case piece.buffer = <-p.free:
			case <-ctx.Done():
				return
			}
			p.work <- piece // never blocks: there are as many places as buffers
			p.order <- piece
		}
	}
}

// convert packs a slice; values is the thread's scratch.
func (p *pipeline) convert(s *slice, values []float32) error {
	t := s.step.Tensor
	part := func(of tensor.Type, n int64) int64 { return n / int64(of.Block()) * int64(of.Size()) }
	src := t.Data[part(t.Type, s.from):][:part(t.Type, s.values)]
	if s.step.To == t.Type {
		s.out = src
		return nil
	}
	if s.buffer == nil {
		s.buffer = make([]byte, 4*sliceValues)
	}
	s.out = s.buffer[:part(s.step.To, s.values)]
	values = values[:s.values]
	if err := cpu.Dequantize(cpu.Type(t.Type), src, values); err != nil {
		return err
	}
	return quant.Encode(p.level, cpu.Type(s.step.To), values, s.out)
}

// next returns the next slice's bytes, and what gives its buffer back.
func (p *pipeline) next(ctx context.Context) ([]byte, func(), error) {
	select {
	case s, ok := <-p.order:
		if !ok {
			return nil, nil, context.Cause(ctx)
		}
		<-s.done
		return s.out, func() { p.free <- s.buffer }, s.err
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}
