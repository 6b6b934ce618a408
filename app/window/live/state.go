// Package live is what the window knows of the running engine, and how its views fetch without ever holding up
// the UI goroutine.
package live

import "context"

// Phase is what the engine is doing.
type Phase int

const (
	None      Phase = iota // no model is loaded
	Loading                // weights are being read; Progress says how far
	Ready                  // waits for a prompt
	Answering              // reads a prompt or writes an answer
	Failed                 // ended when it should not have; Problem says why
)

// State is a moment of the engine. The zero value is an engine that was never started.
type State struct {
	Phase    Phase
	Progress float64 // 0..1 while Loading
	Problem  string  // one sentence, when Failed
	NoRoom   bool    // it failed because a card has too little memory

	Model    string // as the library names it
	Name     string // as people read it
	CanThink bool

	Prefill, Decode float64 // tokens a second, of the last second; 0 when idle
	ContextUsed     int     // tokens in the busiest slot
	Context         int     // tokens a slot holds; 0: nothing loaded

	Cards  []Card
	Stages [][]Lane // topology of the loaded model; nil: none
	TPS    int      // lanes a stage, as asked for; 0: all cards in one stage

	Level   string // instruction set of the CPU in use
	Threads int
}

// Running is the model that is loaded or being loaded; "": none.
func (s State) Running() string {
	if s.Phase == None || s.Phase == Failed {
		return ""
	}
	return s.Model
}

// Card is a compute device. Bytes.
type Card struct {
	Name        string // "cpu", "hip:3"
	Description string
	CPU         bool
	Total       int64
	Used        int64 // by this engine
	Free        int64 // as the system says
	Parts       Parts
	Temperature float64 // degrees Celsius; 0: unknown
	Load        float64 // 0..1; negative: unknown
}

// Parts is what an engine's memory on a card is used for. Bytes.
type Parts struct{ Weights, Cache, State, Scratch int64 }

// Lane is one card's place in a stage.
type Lane struct {
	Card   string
	Layers string // "0-31"; "": unknown
}

// Engine is the engine process as the window sees it. Its methods return at once or end with ctx; the window never
// calls Start from the UI goroutine.
type Engine interface {
	// State returns the last known state without waiting.
	State() State
	// Subscribe has fn called with every new state, from any goroutine, until cancel. fn does not block.
	Subscribe(fn func(State)) (cancel func())
	// Start loads a model, ending the engine that runs, and returns when it is ready or failed.
	Start(ctx context.Context, model string) error
}
