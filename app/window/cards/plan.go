package cards

import "context"

// Plan is the ways of running a model over the cards that are here, as predicted.
type Plan struct {
	Name    string // of the model; "": there is none to plan
	Ways    []Way
	Repack  bool // as it is set
	Context int  // tokens a conversation can hold, as it is set
	// Fitting is the longest context with which the way in use fits; 0: none does, or the one set fits.
	Fitting int
	Problem string // one sentence: why nothing could be predicted
}

// Way is one topology and what it would take.
type Way struct {
	Split           string // none, layer, tensor
	TPS             int    // lanes a stage
	Stages          [][]Share
	Decode, Prefill float64 // tokens a second
	// The same with the other choice of repacking; 0: not known.
	OtherDecode, OtherPrefill float64
	Fullest, Room             int64 // bytes of the card that would be fullest, and what it has
	Fits, Best                bool
	InUse                     bool // as it is set
}

// Share is a card's place in a way.
type Share struct {
	Card, Layers  string
	Bytes, Memory int64
}

// Planner predicts, and keeps what is chosen. Its methods may take a second or two.
type Planner interface {
	// Plan is about the model that is loaded, or the one of new conversations.
	Plan(ctx context.Context) (Plan, error)
	// Use keeps a way, whether weights are repacked, and a context (0: as it is), and loads the model again where one was loaded.
	Use(ctx context.Context, w Way, repack bool, context int) error
}
