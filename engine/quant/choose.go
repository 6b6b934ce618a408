package quant

import (
	"errors"
	"fmt"
	"slices"

	"ingot/engine/gguf"
	"ingot/engine/tensor"
)

// Step is what becomes of one tensor.
type Step struct {
	Tensor   *gguf.Tensor
	To       tensor.Type // equal to Tensor.Type: copied
	Size     int64       // bytes, packed as To
	Fallback bool        // the chosen type's blocks do not divide a row
}

// model is what the rules ask of a file besides its tensors.
type model struct {
	arch            string
	layers, experts int
	queriesPerKV    int  // query heads that share a key and value head in layer 0
	seventy         bool // a model of some 70 billion weights, whose attn_v is small
	tied            bool // there is no output.weight: the token embeddings serve
}

func modelOf(f *gguf.File) model {
	m := model{tied: true}
	m.arch, _ = f.Meta().String("general.architecture")
	number := func(key string) int { // of layer 0 where there is one a layer
		key = m.arch + "." + key
		if n, err := f.Meta().Int(key); err == nil {
			return int(n)
		}
		if all, err := f.Meta().Ints(key); err == nil && len(all) > 0 {
			return int(all[0])
		}
		return -1
	}
	m.layers, m.experts = max(number("block_count"), 0), max(number("expert_count"), 0)
	heads, kv := number("attention.head_count"), number("attention.head_count_kv")
	if kv < 0 {
		kv = heads
	}
	if kv > 0 {
		m.queriesPerKV = heads / kv
	}
	switch m.arch {
	case "llama":
		m.seventy = m.layers == 80 && heads != kv && m.experts != 8
	case "qwen2", "deci", "olmo":
		m.seventy = m.layers == 80
	case "jais2":
		m.seventy = m.layers == 68
	}
	_, has := f.Tensor("output.weight")
	m.tied = !has
	return m
}

// Choose returns what becomes of each tensor, in the order of the file. Every override must match one.
func Choose(f *gguf.File, o *Options) ([]Step, error) {
	c := chooser{model: modelOf(f), mix: o.Mix}
	ts := f.Tensors()
	if len(ts) == 0 {
		return nil, errors.New("the file has no tensors to quantize")
	}
	for _, v := range o.Overrides {
		if !slices.ContainsFunc(ts, func(t gguf.Tensor) bool { return v.Pattern.MatchString(t.Name) }) {
			return nil, fmt.Errorf("no tensor's name matches %q", v.Pattern)
		}
	}
	for i := range ts {
		if roleOf(ts[i].Name) == attnV {
			c.values++
		}
	}
	steps := make([]Step, len(ts))
	for _, i := range byLayer(ts) {
		t := &ts[i]
		s := Step{Tensor: t, To: t.Type}
		if quantizes(t) {
			s.To, s.Fallback = c.choose(t, o)
		}
		var err error
		if s.Size, err = tensor.Bytes(s.To, t.Shape); err != nil {
			return nil, fmt.Errorf("tensor %q as %v: %w", t.Name, s.To, err)
		}
		steps[i] = s
	}
	return steps, nil
}

// chooser goes over a file's tensors layer by layer. Some rules count the tensors of a role so far.
type chooser struct {
	model
	mix    Mix
	values int // attn_v tensors in all
	v      int // attn_v tensors so far
	downs  int // ffn_down tensors so far
}

func (c *chooser) choose(t *gguf.Tensor, o *Options) (to tensor.Type, fallback bool) {
	r := roleOf(t.Name)
	switch {
	case o.Embedding != nil && r == embedding:
		return *o.Embedding, false
	case o.Output != nil && r == output:
		return *o.Output, false
	case !c.mix.Base.Quantized():
		return c.mix.Base, false
	}
	to, byHand := c.mix.Base, false
	for _, v := range o.Overrides {
		if byHand = v.Pattern.MatchString(t.Name); byHand {
			to = v.Type
			break
		}
	}
	if !byHand && !o.Pure {
		to = c.mixed(t, r, o)
	}
	return fit(to, t.Shape[0])
}

// fit returns a type whose blocks divide rows of k values, near the given one.
func fit(to tensor.Type, k int64) (_ tensor.Type, fallback bool) {
	if k%int64(to.Block()) == 0 {
		return to, false
	}
	switch to {
	case tensor.IQ4_XS:
		to = tensor.IQ4_NL
	case tensor.Q2_K, tensor.Q3_K:
		to = tensor.Q4_0
	case tensor.Q4_K:
		to = tensor.Q5_0
	case tensor.Q5_K:
		to = tensor.Q5_1
	case tensor.Q6_K:
		to = tensor.Q8_0
	default:
		return tensor.F16, true
	}
	if k%int64(to.Block()) != 0 {
		to = tensor.F16
	}
	return to, true
}

// mixed is the mix itself: the type of one tensor by its role and layer.
func (c *chooser) mixed(t *gguf.Tensor, r role, o *Options) tensor.Type {
	base := c.mix.Base
	falcon := c.arch == "falcon"
	if r == output || c.tied && r == embedding {
		switch {
		case o.Output != nil:
			return *o.Output
		case c.mix.Name == "MXFP4_MOE" || falcon || t.Shape[0]%int64(base.Block()) != 0 || base == tensor.Q8_0:
			return tensor.Q8_0
		}
		return tensor.Q6_K
	}
	if c.mix.Name == "MXFP4_MOE" {
		if len(t.Shape) > 2 && t.Shape[2] > 1 {
			return tensor.MXFP4
		}
		return tensor.Q8_0
	}
	switch r {
	case attnV:
		to := c.attentionV()
		c.v++
		return to
	case attnK:
		if c.experts == 8 {
			return tensor.Q8_0
		}
	case attnOut:
		return c.attentionOut(falcon)
	case ffnDown:
		layer := c.downs
		if n := layerOf(t.Name); c.experts > 1 && n >= 0 { // several tensors a layer
			layer = n
		}
		c.downs++
		return c.down(layer, falcon)
	}
	return base
}

// moreBits picks the first and last eighth of n layers, and every third of the others.
func moreBits(layer, n int) bool {
	return layer < n/8 || layer >= 7*n/8 || (layer-n/8)%3 == 2
}

func (c *chooser) attentionV() tensor.Type {
	to, shared := c.mix.Base, c.queriesPerKV >= 4
	switch c.mix.Name {
	case "Q2_K":
		if to = tensor.Q3_K; shared {
			to = tensor.Q4_K
		}
	case "Q2_K_S":
		if shared {
			to = tensor.Q4_K
		}
	case "Q3_K_M":
		if to = tensor.Q4_K; c.v < 2 {
			to = tensor.Q5_K
		}
	case "Q3_K_L":
		to = tensor.Q5_K
	case "IQ4_NL", "IQ4_XS":
		if shared {
			to = tensor.Q5_K
		}
	case "Q4_K_M", "Q5_K_M":
		if moreBits(c.v, c.values) {
			to = tensor.Q6_K
		}
	case "Q4_K_S":
		if c.v < 4 {
			to = tensor.Q5_K
		}
	}
	if c.seventy && (to == tensor.Q3_K || to == tensor.Q4_K) {
		to = tensor.Q5_K
	}
	if c.experts == 8 {
		to = tensor.Q8_0
	}
	return to
}

func (c *chooser) attentionOut(falcon bool) tensor.Type {
	name := c.mix.Name
	switch {
	case falcon:
		if name == "Q3_K_L" {
			return tensor.Q4_K
		}
	case c.experts == 8:
		switch name {
		case "Q2_K", "Q3_K_S", "Q3_K_M", "IQ4_NL", "Q4_K_S", "Q4_K_M", "IQ4_XS":
			return tensor.Q5_K
		}
	case name == "Q2_K":
		return tensor.Q3_K
	case name == "Q3_K_M":
		return tensor.Q4_K
	case name == "Q3_K_L":
		return tensor.Q5_K
	}
	return c.mix.Base
}

func (c *chooser) down(layer int, falcon bool) tensor.Type {
	n := c.layers
	early, more := layer < n/8, moreBits(layer, n)
	pick := func(yes bool, to tensor.Type) tensor.Type {
		if yes {
			return to
		}
		return c.mix.Base
	}
	switch c.mix.Name {
	case "Q2_K":
		return tensor.Q3_K
	case "Q2_K_S":
		return pick(early, tensor.Q4_K)
	case "Q3_K_M":
		if layer < n/16 {
			return tensor.Q5_K
		}
		return pick(!falcon || more, tensor.Q4_K)
	case "Q3_K_L":
		if falcon {
			return tensor.Q4_K
		}
		return tensor.Q5_K
	case "Q4_K_M":
		if falcon && layer >= n/16 {
			return pick(more, tensor.Q5_K)
		}
		return pick(falcon || more, tensor.Q6_K)
	case "IQ4_NL", "IQ4_XS":
		return pick(early, tensor.Q5_K)
	case "Q5_K_M":
		return pick(more, tensor.Q6_K)
	case "Q4_K_S":
		return pick(early && !falcon, tensor.Q5_K)
	}
	return c.mix.Base
}
