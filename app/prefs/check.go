package prefs

import (
	"crypto/rand"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// check finds one field that is not valid and can put its default back.
type check struct {
	field string
	wrong func(*Settings) string // a sentence; "": it is valid
	reset func(s, defaults *Settings)
}

// Validate returns nil or Problems, one a field that is not valid.
func (s *Settings) Validate() error {
	var p Problems
	for _, c := range checks {
		if text := c.wrong(s); text != "" {
			p = append(p, Problem{c.field, text})
		}
	}
	if p == nil {
		return nil
	}
	return p
}

var checks = []check{
	{"theme", func(s *Settings) string { return oneOf("The theme", s.Theme, "system", "light", "dark") },
		func(s, d *Settings) { s.Theme = d.Theme }},
	{"language", func(s *Settings) string { return oneOf("The language", s.Language, "", "en", "zh") },
		func(s, d *Settings) { s.Language = d.Language }},
	{"reasoning", func(s *Settings) string { return oneOf("Reasoning", s.Reasoning, "", "on", "off") },
		func(s, d *Settings) { s.Reasoning = d.Reasoning }},

	{"engine.threads", func(s *Settings) string { return whole("The number of threads", s.Engine.Threads, 0, 1024) },
		func(s, d *Settings) { s.Engine.Threads = d.Engine.Threads }},
	{"engine.context", func(s *Settings) string { return wholeOrZero("The context", s.Engine.Context, 64, 1<<24) },
		func(s, d *Settings) { s.Engine.Context = d.Engine.Context }},
	{"engine.slots", func(s *Settings) string { return whole("The number of slots", s.Engine.Slots, 0, 256) },
		func(s, d *Settings) { s.Engine.Slots = d.Engine.Slots }},
	{"engine.ubatch", func(s *Settings) string { return whole("The micro-batch", s.Engine.UBatch, 0, 16384) },
		func(s, d *Settings) { s.Engine.UBatch = d.Engine.UBatch }},
	{"engine.level", func(s *Settings) string {
		return oneOf("The instruction set", s.Engine.Level, "", "generic", "avx2", "avx512", "amx", "neon", "i8mm")
	}, func(s, d *Settings) { s.Engine.Level = d.Engine.Level }},
	{"engine.split", func(s *Settings) string {
		return oneOf("The split mode", s.Engine.Split, "", "none", "layer", "tensor")
	},
		func(s, d *Settings) { s.Engine.Split = d.Engine.Split }},
	{"engine.load", func(s *Settings) string {
		return oneOf("The load mode", s.Engine.Load, "", "mmap", "none", "dio", "mlock")
	},
		func(s, d *Settings) { s.Engine.Load = d.Engine.Load }},
	{"engine.kv_type", func(s *Settings) string {
		return oneOf("The KV type", s.Engine.KVType, "f16", "bf16", "q8_0", "q4_0", "f32")
	},
		func(s, d *Settings) { s.Engine.KVType = d.Engine.KVType }},
	{"engine.v_type", func(s *Settings) string {
		return oneOf("The type of values", s.Engine.VType, "", "f16", "bf16", "q8_0", "q4_0", "f32")
	},
		func(s, d *Settings) { s.Engine.VType = d.Engine.VType }},
	{"engine.tps", lanes, func(s, d *Settings) { s.Engine.TPS = d.Engine.TPS }},

	{"sampling.temperature", func(s *Settings) string { return between("The temperature", s.Sampling.Temperature, 0, 5) },
		func(s, d *Settings) { s.Sampling.Temperature = d.Sampling.Temperature }},
	{"sampling.top_k", func(s *Settings) string { return whole("Top-k", s.Sampling.TopK, 0, 1<<20) },
		func(s, d *Settings) { s.Sampling.TopK = d.Sampling.TopK }},
	{"sampling.top_p", func(s *Settings) string { return between("Top-p", s.Sampling.TopP, 0, 1) },
		func(s, d *Settings) { s.Sampling.TopP = d.Sampling.TopP }},
	{"sampling.min_p", func(s *Settings) string { return between("Min-p", s.Sampling.MinP, 0, 1) },
		func(s, d *Settings) { s.Sampling.MinP = d.Sampling.MinP }},
	{"sampling.repeat_penalty", func(s *Settings) string { return between("The repeat penalty", s.Sampling.RepeatPenalty, 0.1, 10) },
		func(s, d *Settings) { s.Sampling.RepeatPenalty = d.Sampling.RepeatPenalty }},
	{"sampling.presence_penalty", func(s *Settings) string { return between("The presence penalty", s.Sampling.PresencePenalty, -2, 2) },
		func(s, d *Settings) { s.Sampling.PresencePenalty = d.Sampling.PresencePenalty }},
	{"sampling.frequency_penalty", func(s *Settings) string { return between("The frequency penalty", s.Sampling.FrequencyPenalty, -2, 2) },
		func(s, d *Settings) { s.Sampling.FrequencyPenalty = d.Sampling.FrequencyPenalty }},
	{"sampling.penalty_last_n", func(s *Settings) string { return whole("The penalties' reach", s.Sampling.PenaltyLastN, -1, 1<<24) },
		func(s, d *Settings) { s.Sampling.PenaltyLastN = d.Sampling.PenaltyLastN }},
	{"sampling.max_tokens", func(s *Settings) string { return whole("The length of an answer", s.Sampling.MaxTokens, 0, 1<<24) },
		func(s, d *Settings) { s.Sampling.MaxTokens = d.Sampling.MaxTokens }},

	{"server.host", func(s *Settings) string { return host(s.Server.Host) },
		func(s, d *Settings) { s.Server.Host = d.Server.Host }},
	{"server.port", func(s *Settings) string { return whole("The port", s.Server.Port, 1, 65535) },
		func(s, d *Settings) { s.Server.Port = d.Server.Port }},
	{"server.key", key, func(s, d *Settings) { s.Server.Key, s.Server.Enabled = d.Server.Key, false }},

	{"window.width", func(s *Settings) string { return between("The window's width", float64(s.Window.Width), 0, 32767) },
		func(s, d *Settings) { s.Window.Width = d.Window.Width }},
	{"window.height", func(s *Settings) string { return between("The window's height", float64(s.Window.Height), 0, 32767) },
		func(s, d *Settings) { s.Window.Height = d.Window.Height }},
	{"window.sidebar", func(s *Settings) string { return between("The sidebar's share", s.Window.Sidebar, 0, 1) },
		func(s, d *Settings) { s.Window.Sidebar = d.Window.Sidebar }},
}

func oneOf(what, v string, allowed ...string) string {
	if slices.Contains(allowed, v) {
		return ""
	}
	named := slices.DeleteFunc(allowed, func(s string) bool { return s == "" })
	last := len(named) - 1
	return fmt.Sprintf("%s is %s or %s, not %q.", what, strings.Join(named[:last], ", "), named[last], v)
}

func whole(what string, v, lo, hi int) string {
	if lo <= v && v <= hi {
		return ""
	}
	return fmt.Sprintf("%s must be from %d to %d, not %d.", what, lo, hi, v)
}

func wholeOrZero(what string, v, lo, hi int) string {
	if v == 0 || lo <= v && v <= hi {
		return ""
	}
	return fmt.Sprintf("%s must be from %d to %d, or 0 for the default, not %d.", what, lo, hi, v)
}

func between(what string, v, lo, hi float64) string {
	if lo <= v && v <= hi && !math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("%s must be from %g to %g, not %g.", what, lo, hi, v)
}

// lanes holds the rule of -tps: the cards are cut into stages of TPS lanes, without a rest.
func lanes(s *Settings) string {
	t, n := s.Engine.TPS, len(s.Engine.Cards)
	if text := whole("-tps", t, 0, 64); text != "" {
		return text
	}
	if t > 0 && n > 1 && n%t != 0 { // a processor alone is cut into any number
		return fmt.Sprintf("-tps %d does not divide the %d cards chosen.", t, n)
	}
	return ""
}

func host(h string) string {
	if h == "" {
		return "The server needs an address, such as 127.0.0.1."
	}
	if _, err := netip.ParseAddr(h); err == nil {
		return ""
	}
	for _, r := range h {
		if !(r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return fmt.Sprintf("The server's address is an IP address or a name without port, not %q.", h)
		}
	}
	return ""
}

func key(s *Settings) string {
	for _, r := range s.Server.Key {
		if r <= ' ' || r > '~' {
			return "The key may hold only letters, digits and signs, no spaces."
		}
	}
	if s.Server.Enabled && s.Server.Key == "" && !IsLoopback(s.Server.Host) {
		return fmt.Sprintf("Other machines can reach %s, so the server needs a key.", s.Server.Host)
	}
	return ""
}

// IsLoopback tells whether only this machine reaches a server at that address. A name other than localhost may
// lead anywhere.
func IsLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// NewKey returns a key for the server that cannot be guessed: 130 random bits.
func NewKey() string { return "ingot-" + strings.ToLower(rand.Text()) }
