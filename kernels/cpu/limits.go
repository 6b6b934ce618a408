package cpu

// #include "limits.h"
import "C"

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"
)

// Limits is what this machine does at most, as measured by kernels that do nothing else. A kernel's speed is best
// told as a share of these.
type Limits struct {
	Threads int
	// Read1 and Read are the bytes a second that one thread and all threads read from memory, far more of it than caches
	// hold; Pattern is the way of reading that was the fastest for all threads.
	Read1, Read float64
	Pattern     string
	Rates       []Rate // of the instructions this machine runs, lowest level first
}

// Rate is how many multiply-adds a second all threads together make in registers.
type Rate struct {
	Instruction string // what multiplies, such as "vpdpbusd"
	Type        string // of the factors: "int8", "bf16" or "f32"
	Level       string // that has the instruction: "avx2", "avx512" or "amx"
	PerSecond   float64
}

var rates = [C.IG_RATES]Rate{
	C.IG_RATE_AVX2_INT8:   {Instruction: "vpmaddubsw+vpmaddwd", Type: "int8", Level: "avx2"},
	C.IG_RATE_AVX2_F32:    {Instruction: "vfmadd ymm", Type: "f32", Level: "avx2"},
	C.IG_RATE_AVX512_INT8: {Instruction: "vpdpbusd", Type: "int8", Level: "avx512"},
	C.IG_RATE_AVX512_BF16: {Instruction: "vdpbf16ps", Type: "bf16", Level: "avx512"},
	C.IG_RATE_AVX512_F32:  {Instruction: "vfmadd zmm", Type: "f32", Level: "avx512"},
	C.IG_RATE_AMX_INT8:    {Instruction: "tdpbssd", Type: "int8", Level: "amx"},
	C.IG_RATE_AMX_BF16:    {Instruction: "tdpbf16ps", Type: "bf16", Level: "amx"},
}

// Peak returns the highest rate of those of a level and the levels below it whose factors have one of the types, or any
// where none is given; 0 where none was measured.
func (l *Limits) Peak(level string, types ...string) float64 {
	order := []string{"avx2", "avx512", "amx"}
	best := 0.0
	for _, r := range l.Rates {
		below := slices.Index(order, r.Level) <= slices.Index(order, level)
		if below && (len(types) == 0 || slices.Contains(types, r.Type)) {
			best = max(best, r.PerSecond)
		}
	}
	return best
}

// readPattern is one way of reading all of a buffer; see ig_read.
type readPattern struct {
	streams, ahead int
	pages          bool // the first line of each is fetched well before
	pieces         bool // threads take pieces of 256 KiB in turn, otherwise one contiguous share each
}

var readPatterns = []readPattern{
	{streams: 1}, {streams: 1, pages: true}, {streams: 1, ahead: 4096, pages: true}, {streams: 1, ahead: 1024}, {streams: 1, ahead: 4096},
	{streams: 2, ahead: 1024}, {streams: 4}, {streams: 4, ahead: 512}, {streams: 4, ahead: 2048}, {streams: 8}, {streams: 8, ahead: 512},
	{streams: 1, pieces: true}, {streams: 4, ahead: 1024, pieces: true},
}

func (p readPattern) String() string {
	s := fmt.Sprintf("%d streams a thread", p.streams)
	if p.streams == 1 {
		s = "1 stream a thread"
	}
	if p.ahead > 0 {
		s += fmt.Sprintf(", prefetched %d bytes ahead", p.ahead)
	}
	if p.pages {
		s += ", pages opened before"
	}
	if p.pieces {
		s += ", in pieces of 256 KiB"
	}
	return s
}

// How long a limit is measured: the best of so many tries, each long enough for a clock to rise.
const (
	limitTries = 6
	limitTurn  = 10 * time.Millisecond
)

// MeasureLimits measures the limits for a number of threads, below 1: Cores(). buffer is the bytes to read, several times
// what the caches hold; below 1: 1 GiB. It takes a second or two, or until ctx ends, and the machine should have nothing
// else to do. It wraps ErrMemory and ErrThreads.
func MeasureLimits(ctx context.Context, threads int, buffer int64) (*Limits, error) {
	if threads < 1 {
		threads = Cores()
	}
	if buffer < 1 {
		buffer = 1 << 30
	}
	mem, err := Alloc(buffer)
	if err != nil {
		return nil, err
	}
	defer mem.Free()
	one, err := newTeam(1, nil)
	if err != nil {
		return nil, err
	}
	defer one.Close()
	all := one
	if threads > 1 {
		if all, err = newTeam(threads, nil); err != nil {
			return nil, err
		}
		defer all.Close()
	}
	l := &Limits{Threads: threads}
	all.read(readPatterns[0], mem, true)
	l.Read, l.Pattern = all.bestRead(ctx, mem)
	if l.Read1 = l.Read; threads > 1 {
		l.Read1, _ = one.bestRead(ctx, mem)
	}
	for i, r := range rates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var macs C.int
		if fn := C.ig_rate_kernel(C.int(i), &macs); fn != nil {
			r.PerSecond = all.rate(fn) * float64(int(macs)*threads)
			l.Rates = append(l.Rates, r)
		}
	}
	return l, nil
}

// bestRead is the bytes a second of the fastest pattern until ctx ends, and which that was.
func (t *Team) bestRead(ctx context.Context, mem *Memory) (best float64, pattern string) {
	for range limitTries {
		for _, p := range readPatterns {
			if ctx.Err() != nil {
				return best, pattern
			}
			if bytes, took := t.read(p, mem, false); float64(bytes)/took.Seconds() > best {
				best, pattern = float64(bytes)/took.Seconds(), p.String()
			}
		}
	}
	return best, pattern
}

// Read reads that much memory once, all threads together, each a run of its own, and does nothing with it; what of it lies
// in whole lines. It returns how much was read. Memory that is a model's tells what the model could be read at just now.
func (t *Team) Read(p unsafe.Pointer, n int64) (bytes int64, took time.Duration) {
	const line = 64
	skip := -int64(uintptr(p)) & (line - 1)
	chunk := (n - skip) / int64(t.threads) / C.IG_READ_UNIT * C.IG_READ_UNIT
	if chunk <= 0 {
		return 0, 0
	}
	args := C.ig_read{mem: (*C.uint8_t)(unsafe.Add(p, skip)), bytes: C.int64_t(chunk * int64(t.threads)), chunk: C.int64_t(chunk), streams: 1, pages: 1}
	return chunk * int64(t.threads), t.once(C.ig_read_kernel(), unsafe.Pointer(&args))
}

// read reads memory once, or fills it: an untouched page is not in memory. It returns how much, in whole pieces.
func (t *Team) read(p readPattern, mem *Memory, fill bool) (bytes int64, took time.Duration) {
	chunk := int64(256 << 10)
	if !p.pieces || mem.Len() < chunk {
		chunk = mem.Len() / int64(t.threads) / C.IG_READ_UNIT * C.IG_READ_UNIT
	}
	bytes = mem.Len() / chunk * chunk
	fn := C.ig_read_kernel()
	if fill {
		fn = (*C.ig_kernel)(C.ig_read_fill)
	}
	args := C.ig_read{mem: (*C.uint8_t)(mem.Pointer()), bytes: C.int64_t(bytes), chunk: C.int64_t(chunk), streams: C.int32_t(p.streams), ahead: C.int32_t(p.ahead)}
	if p.pages {
		args.pages = 1
	}
	return bytes, t.once(fn, unsafe.Pointer(&args))
}

// rate is how often a second each thread executes an instruction.
func (t *Team) rate(fn *C.ig_kernel) (best float64) {
	for turns, tries := int64(1000), 0; tries < limitTries; {
		args := C.ig_rate_args{turns: C.int64_t(turns)}
		took := t.once(fn, unsafe.Pointer(&args))
		if took < limitTurn {
			turns *= 2
			continue
		}
		best = max(best, float64(turns*C.IG_CHAINS)/took.Seconds())
		tries++
	}
	return best
}

// once runs a kernel without a batch and returns how long that took.
func (t *Team) once(fn *C.ig_kernel, args unsafe.Pointer) time.Duration {
	return time.Duration(C.ig_run_once(t.c, fn, args))
}
