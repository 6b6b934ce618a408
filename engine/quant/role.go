package quant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ingot/engine/gguf"
)

// role is what a mix tells tensors apart by.
type role int

const (
	other role = iota
	embedding
	output
	attnK
	attnV // also the fused ones that hold V
	attnOut
	ffnDown
)

// roleOf goes by the name alone; the first that fits counts.
func roleOf(name string) role {
	switch {
	case name == "output.weight":
		return output
	case name == "token_embd.weight", name == "per_layer_token_embd.weight":
		return embedding
	}
	for _, part := range []struct {
		text string
		role role
	}{
		{"attn_qkv.weight", attnV}, {"attn_kv_b.weight", attnV}, {"attn_v.weight", attnV}, {"attn_k.weight", attnK}, {"attn_q.weight", other},
		{"attn_output.weight", attnOut}, {"ffn_up", other}, {"ffn_gate", other}, {"ffn_down", ffnDown},
	} {
		if strings.Contains(name, part.text) {
			return part.role
		}
	}
	return other
}

// Matrices that stay as they are: they are small, and their error would weigh more than what is saved.
var kept = []string{
	"_norm.weight",
	"ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", // which expert a token goes to
	"altup", "laurel", "per_layer_model_proj", // Gemma 3n
	"ssm_conv1d", "shortconv.conv.weight", // depthwise convolutions
	"indexer.k_proj.weight", "indexer.q_proj.weight",
	"time_mix_first.weight", "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight", // RWKV
	"time_mix_v1.weight", "time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight",
	"time_mix_g1.weight", "time_mix_g2.weight", "time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight",
	"attn_rel_b.weight",                                                                                   // T5
	".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd", ".patch_merger", // pictures
	"a.rvq.codebook", "mm.a.code_embd", // sound
}

// quantizes tells whether a mix changes the type of a tensor at all: matrices that are weights, but for those kept.
func quantizes(t *gguf.Tensor) bool {
	dims := len(t.Shape)
	for dims > 0 && t.Shape[dims-1] == 1 {
		dims--
	}
	if dims < 2 || !strings.HasSuffix(t.Name, "weight") || t.Name == "position_embd.weight" || t.Name == "token_types.weight" {
		return false
	}
	return !slices.ContainsFunc(kept, func(part string) bool { return strings.Contains(t.Name, part) })
}

// layerOf returns the number in a name that begins with blk.N., else -1.
func layerOf(name string) int {
	var n int
	if _, err := fmt.Sscanf(name, "blk.%d.", &n); err != nil {
		return -1
	}
	return n
}

// byLayer lists the places of the tensors layer by layer, by name within one. Rules that count tensors count so.
func byLayer(ts []gguf.Tensor) []int {
	places := make([]int, len(ts))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int {
		if c := cmp.Compare(layerOf(ts[a].Name), layerOf(ts[b].Name)); c != 0 {
			return c
		}
		return cmp.Compare(ts[a].Name, ts[b].Name)
	})
	return places
}
