package openai

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"ingot/engine"
)

// noLogprob stands for minus infinity, which JSON cannot write; OpenAI sends the same number.
const noLogprob = -9999

// Logprobs is the chat form: one entry a generated token, thoughts and control tokens included.
type Logprobs struct {
	Content []TokenLogprob `json:"content"`
}

// TokenLogprob is a token with its natural-log probability over the whole vocabulary. ID is llama-server's
// extension. Token may hold a replacement character where a character is spread over several tokens; Bytes is exact.
type TokenLogprob struct {
	ID      int32          `json:"id"`
	Token   string         `json:"token"`
	Bytes   []int          `json:"bytes"`
	Logprob float64        `json:"logprob"`
	Top     []TokenLogprob `json:"top_logprobs,omitzero"` // nil for one of these themselves
}

func logprobsOf(tokens []engine.TokenInfo) *Logprobs {
	if len(tokens) == 0 {
		return nil
	}
	out := &Logprobs{Content: make([]TokenLogprob, 0, len(tokens))}
	for _, t := range tokens {
		entry := tokenLogprob(t.ID, t.Bytes, t.Logprob)
		entry.Top = []TokenLogprob{} // clients expect a list
		for _, c := range t.Top {
			entry.Top = append(entry.Top, tokenLogprob(c.ID, c.Bytes, c.Logprob))
		}
		out.Content = append(out.Content, entry)
	}
	return out
}

func tokenLogprob(id int32, text []byte, logprob float32) TokenLogprob {
	t := TokenLogprob{ID: id, Token: strings.ToValidUTF8(string(text), "\ufffd"), Logprob: finite(logprob), Bytes: []int{}}
	for _, b := range text {
		t.Bytes = append(t.Bytes, int(b))
	}
	return t
}

func finite(logprob float32) float64 {
	if f := float64(logprob); f > noLogprob {
		return f
	}
	return noLogprob
}

// LegacyLogprobs is the form of text completions: parallel lists, one entry a token.
type LegacyLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []*float64           `json:"token_logprobs"` // null where nothing came before the token
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`   // null where only the chosen token was asked for
	TextOffset    []int                `json:"text_offset"`    // characters from the start of the answer's text
	TokenIDs      []int32              `json:"token_ids"`      // extension
}

// legacyLogprobs continues at offset, in characters, and gives the next offset.
func legacyLogprobs(tokens []engine.TokenInfo, offset int) (*LegacyLogprobs, int) {
	if len(tokens) == 0 {
		return nil, offset
	}
	out := &LegacyLogprobs{}
	for _, t := range tokens {
		out.Tokens = append(out.Tokens, legacyToken(t.Bytes))
		out.TokenIDs = append(out.TokenIDs, t.ID)
		out.TextOffset = append(out.TextOffset, offset)
		offset += utf8.RuneCount(t.Bytes)
		if math.IsNaN(float64(t.Logprob)) {
			out.TokenLogprobs = append(out.TokenLogprobs, nil)
		} else {
			out.TokenLogprobs = append(out.TokenLogprobs, new(finite(t.Logprob)))
		}
		var top map[string]float64
		for _, c := range t.Top {
			if top == nil {
				top = map[string]float64{}
			}
			name, value := legacyToken(c.Bytes), finite(c.Logprob)
			// Two ids can spell the same text; the likelier one is kept.
			if old, ok := top[name]; !ok || value > old {
				top[name] = value
			}
		}
		out.TopLogprobs = append(out.TopLogprobs, top)
	}
	return out, offset
}

// legacyToken writes a token that is no whole text the way OpenAI does: bytes:\xe2\x80.
func legacyToken(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	b.WriteString("bytes:")
	for _, c := range text {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}
