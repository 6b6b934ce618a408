// Package settings is the screen of settings: how models are run, how they answer, how the window looks.
package settings

import "context"

// Values is what can be set. Zero means what its field says.
type Values struct {
	Threads  int    // 0: one a core
	Context  int    // tokens a conversation can hold; 0: what the model says, at most 4096
	Slots    int    // conversations at once; 0: 1
	Keys     string // types of the KV cache's keys and values: see cacheTypes
	Values   string
	LoadMode string // how the file gets into memory: see loadModes
	NoRepack bool   // weights are read where the file is mapped
	Cards    []string
	TPS      int // lanes a stage; 0: all cards in one stage

	Reasoning     string // "", "on", "off"
	System        string
	Temperature   float64
	TopK          int
	TopP          float64
	MinP          float64
	RepeatPenalty float64
	Seed          uint64
	Seeded        bool
	MaxTokens     int // 0: to the end of the context

	Theme string // system, light, dark
}

// Machine is what the values are about.
type Machine struct {
	Cores   int
	Nodes   int    // parts of memory that cores are near to; 1 on most machines
	Cards   []Card // the CPU first
	Model   string // that is loaded, or that new conversations have; "": unknown
	Trained int    // tokens it was trained for; 0: unknown
	Folder  string // where conversations and settings are kept
}

// Card is a device that can be chosen.
type Card struct {
	Name, Description string
	CPU               bool
}

// Store keeps the values. Methods may wait for the disk.
type Store interface {
	Load(ctx context.Context) (Values, Machine, error)
	// Save keeps the values, or returns one sentence saying which is wrong.
	Save(ctx context.Context, v Values) error
}

// needsReload reports whether a loaded model must be loaded again for its new values.
func needsReload(a, b Values) bool {
	if a.Threads != b.Threads || a.Context != b.Context || a.Slots != b.Slots || a.NoRepack != b.NoRepack || a.Keys != b.Keys || a.Values != b.Values || a.LoadMode != b.LoadMode || a.TPS != b.TPS {
		return true
	}
	if len(a.Cards) != len(b.Cards) {
		return true
	}
	for i := range a.Cards {
		if a.Cards[i] != b.Cards[i] {
			return true
		}
	}
	return false
}

// equal reports whether nothing was changed.
func equal(a, b Values) bool {
	if needsReload(a, b) {
		return false
	}
	a.Cards, b.Cards = nil, nil
	return a.Reasoning == b.Reasoning && a.System == b.System && a.Temperature == b.Temperature && a.TopK == b.TopK &&
		a.TopP == b.TopP && a.MinP == b.MinP && a.RepeatPenalty == b.RepeatPenalty && a.Seed == b.Seed && a.Seeded == b.Seeded &&
		a.MaxTokens == b.MaxTokens && a.Theme == b.Theme
}
