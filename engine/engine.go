// Package engine is Ingot's Go API: it opens a GGUF model and turns prompts into tokens.
//
//	e, err := engine.Open("model.gguf", engine.Options{})
//	for ev, err := range e.Generate(ctx, engine.Request{Messages: msgs, MaxTokens: 200}) { ... }
//
// An Engine is one loaded model on one set of cards. Several Generate calls may run at once; each holds a slot,
// and the scheduler batches them. A call passes the whole conversation every time: the engine finds the longest
// prefix it still holds and reads only what is new.
package engine

import (
	"errors"
	"time"

	"ingot/engine/chat"
	"ingot/engine/sample"
)

var (
	// ErrPromptTooLong is returned when a prompt does not fit the context; nothing is cut silently.
	ErrPromptTooLong = errors.New("prompt longer than the context")
	// ErrClosed is returned by calls on an engine or a session that was closed.
	ErrClosed = errors.New("engine closed")
	// ErrNoTemplate is returned when messages are given to a model whose file carries no chat template.
	ErrNoTemplate = errors.New("model has no chat template")
	// ErrNoVocabulary is returned when text is given to a model whose file has token ids without texts.
	ErrNoVocabulary = errors.New("the file has no vocabulary, so text cannot become tokens")
	// ErrBadRequest is returned when a request contradicts itself or asks what the model cannot do.
	ErrBadRequest = errors.New("bad request")
)

// Options says how a model is opened. The zero value works: one lane on the CPU, all cores.
type Options struct {
	Threads  int    // 0: one a physical core
	Context  int    // tokens a slot can hold; 0: what the file says, at most 4096. Memory grows with it.
	Slots    int    // sequences at once; 0: 1. Each has its own context.
	UBatch   int    // rows a program takes; 0: 512
	Level    string // generic, avx2, avx512 ...; "": INGOT_CPU, else the best this machine has
	NoRepack bool   // read weights where the file is mapped: starts sooner, runs more slowly
	// Cards are names from Devices; nil: the CPU. "cpu:0", "cpu:1" and so on are parts of the processor, of equal size;
	// "4xcpu" stands for four of them.
	Cards []string
	// TPS is how many cards share each layer, as lanes of a stage (-tps); 0: all of them. The number of cards is a multiple
	// of it, but that a CPU alone is cut into as many lanes.
	TPS   int
	Split string // "none": the first card alone; "layer": each card some layers; "tensor", "": lanes (-sm)
	// Shares are the proportions of the cards (-ts), one each; nil: by their speeds.
	Shares []float64
	// Layers is how many of the last layers the cards get, where the head counts as one; the others stay on the CPU (-ngl).
	// Nil: all.
	Layers *int
	// Moves are operations that run elsewhere, "PATTERN=CARD" each: those that read a tensor whose name matches the regular
	// expression (-ot).
	Moves []string
	// CacheK and CacheV are the types of keys and of values: "f16", "bf16", "q8_0", "q4_0" or "f32"; "": f16. q8_0 takes 0.53 of
	// f16's memory at a small loss, q4_0 0.28 at one that can be seen. Both need heads of a multiple of 32 values.
	CacheK, CacheV string
	// Snapshots bounds the memory kept for recurrent states of earlier positions, in bytes; 0: 256 MiB. Two are always
	// kept, and no more than 256.
	Snapshots int64
	// Load is how weights get into memory (-lm): "" or "mmap" maps the file, so that the system reads what is touched, may drop it
	// again and shares it; "none" reads it, which a file that is cut meanwhile cannot hurt; "dio" reads it past the system's
	// page cache; "mlock" maps it and holds all that was loaded in memory, which needs the right to.
	Load    string
	Profile bool // time every step, for Engine.Profile
	// Progress is called while weights load, with the share done, from the goroutine that called Open.
	Progress func(float64)

	// Hook sees intermediate activations after every batch, on the engine's own goroutine, which waits for it: it must
	// not call the engine. Watch chooses them by layer and name (see Activation) when the model is opened; nil: each
	// layer's result. What is watched keeps its memory, and is not folded into the next step, which may change the last bits
	// of a mixture's sum. Nil costs nothing.
	Hook  func(Activation)
	Watch func(layer int, name string) bool
}

// Request asks for one continuation. Exactly one of Messages, Text and Tokens is set.
type Request struct {
	chat.Prompt         // Messages, Tools, Reasoning ...: rendered by the model's template
	Text        string  // a raw prompt; control tokens in it are not read as such
	Tokens      []int32 // a prompt already encoded

	MaxTokens int // 0: up to the end of the context
	Sampling  sample.Params
	Stop      []string // the answer ends before the first of these
	Logprobs  int      // per token, that many best candidates; 0: none; -1: only the chosen token's
	Echo      bool     // a raw prompt is repeated before its continuation
	IgnoreEOS bool     // go on past end-of-text tokens, for measuring

	// Processors see and may change the logits of every step before sampling (A7). They and Until run on the engine's
	// goroutine, between Generate's call and the end of its loop; a panic in one ends this answer with an error.
	Processors []func(tokens []int32, logits []float32)
	// Until ends the generation when it returns true; it sees the tokens generated so far.
	Until func(tokens []int32) bool
}

// Event is one piece of an answer, in order. Fields that have nothing to say are zero.
type Event struct {
	Prompt    *PromptProgress // while the prompt is read
	Text      string          // answer text; whole characters only
	Reasoning string          // thought text
	ToolCalls []chat.ToolCall // complete calls
	Tokens    []TokenInfo     // the tokens this event reports, with logprobs where asked for
	Done      *Result         // the last event of a successful answer
}

// PromptProgress counts prompt tokens: Cached were still held, Read of Total are in the cache now.
type PromptProgress struct{ Total, Cached, Read int }

// TokenInfo is one generated token.
type TokenInfo struct {
	ID      int32
	Bytes   []byte
	Logprob float32 // natural log over the whole vocabulary, before temperature
	Top     []Candidate
}

// Candidate is a token that could have been chosen.
type Candidate struct {
	ID      int32
	Bytes   []byte
	Logprob float32
}

// FinishReason says why an answer ended.
type FinishReason string

const (
	FinishStop   FinishReason = "stop"       // end-of-turn token, a stop string, or Until
	FinishLength FinishReason = "length"     // MaxTokens or the end of the context
	FinishTools  FinishReason = "tool_calls" // the model asked for tools
)

// Result sums an answer up.
type Result struct {
	Reason     FinishReason
	StopString string // the one that matched, if any
	Usage      Usage
	Timing     Timing
}

// Usage counts tokens: Completion those that were picked, the one that ended the turn included; Reasoning those of
// them inside a thought.
type Usage struct{ Prompt, Cached, Completion, Reasoning int }

// Timing is wall time: prefill covers Prompt-Cached tokens, decode the completion after its first token.
type Timing struct {
	Queue, Prefill, Decode time.Duration
	PrefillRate            float64 // tokens a second
	DecodeRate             float64
}

// Info describes an open model.
type Info struct {
	Path         string
	Name         string // general.name, else the file's name
	Architecture string
	Quantization string // general.file_type's name, else the type most bytes have
	Parameters   int64
	FileBytes    int64
	Context      int // tokens a slot holds
	TrainContext int // what the file says
	Vocab        int
	Layers       int
	Embedding    int
	Slots        int
	Threads      int
	Level        string // CPU instruction-set level in use
	NoVocab      bool   // token ids have no texts: the model takes and gives token numbers alone
	HasTemplate  bool
	CanThink     bool // the template knows enable_thinking or writes <think>
	Topology     string
	Meeting      string // how the lanes of a stage of graphics cards exchange values; "" where there are none
}

// Status is a moment of a running engine.
type Status struct {
	Cards       []Card
	Slots       []Slot
	Prefill     float64 // tokens a second in the last second of prefill; 0 when idle
	Decode      float64 // tokens a second in the last second of decode; 0 when idle
	ContextUsed int     // cells used by the busiest slot
	Context     int
	Requests    int64 // answered since start
	Generated   int64 // tokens since start
}

// Card is a compute device and its memory in bytes.
type Card struct {
	Name        string // "cpu", "cpu:0", "hip:3"
	Description string
	Total       int64
	Used        int64            // by this engine
	Free        int64            // by what the system says now
	Parts       map[string]int64 // weights, cache, state, scratch: bytes of Used
	Temperature float64          // degrees Celsius; 0: unknown
	Load        float64          // 0..1; -1: unknown
	Stage       int              // of the loaded model that it is a lane of, from 1; 0: of none
	Layers      string           // that the stage has, from 0, such as "0–31"
}

// Slot is one sequence's place.
type Slot struct {
	ID      int
	Busy    bool
	Used    int // cells
	Context int
}
