package arch

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"ingot/engine/graph"
)

// MaxLayers bounds the layers of a model; no published one comes near.
const MaxLayers = 512

// perLayer are the architectures whose layers may differ in their number of key heads and their feed-forward length.
var perLayer = map[string]bool{"gemma4": true}

// reader takes parameters by their key under the architecture's name and collects everything that is wrong.
type reader struct {
	meta Meta
	arch string
	errs []error
	hyp  Hyper
}

func (r *reader) fail(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

func (r *reader) has(key string) bool { _, ok := r.meta.Value(r.arch + "." + key); return ok }

// count reads an integer that must lie in [lo, hi].
func (r *reader) count(key string, lo, hi int) int {
	n, err := r.meta.Int(r.arch + "." + key)
	if err != nil {
		r.fail("%w", err)
		return lo
	}
	if n < int64(lo) || n > int64(hi) {
		r.fail("%s.%s is %d, expected %d to %d", r.arch, key, n, lo, hi)
		return lo
	}
	return int(n)
}

// countOr is count with a value for a missing key.
func (r *reader) countOr(key string, lo, hi, missing int) int {
	if !r.has(key) {
		return missing
	}
	return r.count(key, lo, hi)
}

// perLayer reads an integer for each layer: one for all, or an array.
func (r *reader) perLayer(key string, lo, hi, missing int) []int {
	v, ok := r.meta.Value(r.arch + "." + key)
	if t := reflect.TypeOf(v); !ok || t.Kind() != reflect.Slice {
		return slices.Repeat([]int{r.countOr(key, lo, hi, missing)}, r.hyp.Blocks)
	}
	out := slices.Repeat([]int{lo}, r.hyp.Blocks)
	list, err := r.meta.Ints(r.arch + "." + key)
	if err != nil {
		r.fail("%w", err)
	} else if len(list) != len(out) {
		r.fail("%s.%s has %d values for %d layers", r.arch, key, len(list), len(out))
	}
	for i := range min(len(list), len(out)) {
		if list[i] < int64(lo) || list[i] > int64(hi) {
			r.fail("%s.%s of layer %d is %d, expected %d to %d", r.arch, key, i, list[i], lo, hi)
			break
		}
		out[i] = int(list[i])
	}
	return out
}

// even is perLayer for architectures whose layers are alike.
func (r *reader) even(key string, lo, hi, missing int) int {
	list := r.perLayer(key, lo, hi, missing)
	if !perLayer[r.arch] && slices.Min(list) != slices.Max(list) {
		r.fail("%s.%s differs from layer to layer, which %s cannot", r.arch, key, r.arch)
	}
	return list[0]
}

// windows tells for each layer whether it attends to the last cells only: as the file lists it, or all but the last of
// every period layers, where the file may give another period.
func (r *reader) windows(period int) []bool {
	const key = "attention.sliding_window_pattern"
	list := r.perLayer(key, 0, MaxLayers, period)
	if v, ok := r.meta.Value(r.arch + "." + key); !ok || reflect.TypeOf(v).Kind() != reflect.Slice {
		for i, p := range list {
			list[i] = 1
			if p > 0 && i%p == p-1 {
				list[i] = 0
			}
		}
	}
	out := make([]bool, len(list))
	for i, n := range list {
		out[i] = n != 0
	}
	return out
}

// number reads a float that must lie in [lo, hi].
func (r *reader) number(key string, lo, hi, missing float64) float64 {
	if !r.has(key) {
		return missing
	}
	f, err := r.meta.Float(r.arch + "." + key)
	if err != nil {
		r.fail("%w", err)
		return missing
	}
	if math.IsNaN(f) || f < lo || f > hi {
		r.fail("%s.%s is %v, expected %v to %v", r.arch, key, f, lo, hi)
		return missing
	}
	return f
}

// needFF fails where the file does not say how long the feed-forward block is.
func (r *reader) needFF() {
	if r.hyp.FF < 1 {
		r.fail("%s.feed_forward_length is missing", r.arch)
	}
}

func (r *reader) text(key, missing string) string {
	if !r.has(key) {
		return missing
	}
	s, err := r.meta.String(r.arch + "." + key)
	if err != nil {
		r.fail("%w", err)
	}
	return s
}

// start reads what every architecture has. Where it fails the rest makes no sense.
func (r *reader) start(vocab int) {
	h := &r.hyp
	h.Arch, h.Vocab = r.arch, vocab
	if vocab < 1 {
		r.fail("the vocabulary is empty")
	}
	h.Dim = r.count("embedding_length", 1, 1<<17)
	h.Layers = r.count("block_count", 1, MaxLayers)
	h.Blocks = h.Layers
	h.TrainContext = r.count("context_length", 1, 1<<30)
	h.Heads = r.count("attention.head_count", 1, 1<<12)
	h.KVHeads = r.even("attention.head_count_kv", 1, 1<<12, h.Heads)
	h.HeadDim = r.countOr("attention.key_length", 1, 1<<12, h.Dim/h.Heads)
	if !r.has("attention.key_length") && h.Dim%h.Heads != 0 {
		r.fail("%s.embedding_length %d is not a multiple of attention.head_count %d", r.arch, h.Dim, h.Heads)
	}
	if v := r.countOr("attention.value_length", 1, 1<<12, h.HeadDim); v != h.HeadDim {
		r.fail("%s.attention.value_length is %d, expected the key length %d", r.arch, v, h.HeadDim)
	}
	if h.Heads%h.KVHeads != 0 {
		r.fail("%s.attention.head_count %d is not a multiple of head_count_kv %d", r.arch, h.Heads, h.KVHeads)
	}
	h.FF = r.even("feed_forward_length", 0, 1<<20, 0)
	if key := "attention.layer_norm_rms_epsilon"; r.has(key) {
		h.Eps = float32(r.number(key, 0, 1, 0))
	} else {
		r.fail("%s.%s is missing", r.arch, key)
	}
}

// rope reads the rotary parameters; dims is how many values of a head turn where the file does not say.
func (r *reader) rope(dims int, neox bool) *graph.Rope {
	p := &graph.Rope{
		Dims: r.countOr("rope.dimension_count", 2, 1<<12, dims), Neox: neox,
		Base:        r.number("rope.freq_base", 1, 1e12, 10000),
		Factor:      r.number("rope.scaling.factor", 0, 1e6, 1),
		OrigContext: r.countOr("rope.scaling.original_context_length", 1, 1<<30, r.hyp.TrainContext),
		BetaFast:    r.number("rope.scaling.yarn_beta_fast", 0, 1e6, 32),
		BetaSlow:    r.number("rope.scaling.yarn_beta_slow", 0, 1e6, 1),
		AttnFactor:  r.number("rope.scaling.attn_factor", 0, 1e3, 0),
	}
	if p.Dims%2 != 0 || p.Dims > r.hyp.HeadDim {
		r.fail("%s.rope.dimension_count is %d, expected an even number up to the head's %d", r.arch, p.Dims, r.hyp.HeadDim)
	}
	switch s := r.text("rope.scaling.type", ""); s {
	case "", "linear": // a factor without a type is linear; older files have another key for it
		if p.Factor == 0 || !r.has("rope.scaling.factor") {
			p.Factor = r.number("rope.scale_linear", 0, 1e6, 1)
		}
		p.Scaling = graph.ScalingLinear
	case "none":
		p.Scaling = graph.ScalingNone
	case "yarn":
		p.Scaling = graph.ScalingYarn
	default:
		r.fail("%s.rope.scaling.type is %q, expected none, linear or yarn", r.arch, s)
	}
	return p
}
