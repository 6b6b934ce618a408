// Package server is the screen of the OpenAI-compatible endpoint: a switch, where it listens, who may use it, and
// what was asked of it.
package server

import (
	"context"
	"time"
)

// Config is where the endpoint listens.
type Config struct {
	Port    int
	Network bool   // else only this computer
	Key     string // "": none; needed for the network
}

// State is a moment of the endpoint.
type State struct {
	On       bool
	Starting bool
	Problem  string // one sentence: why it is not on, such as a port in use and by whom
	Config   Config
	Address  string // http://127.0.0.1:8080/v1 when on
	Model    string // the id clients name; "": none loaded
	Takes    Takes
	Requests []Request
}

// Takes is what the loaded model can be asked with.
type Takes int

const (
	Chats   Takes = iota // messages
	Text                 // text to continue: it has no chat template
	Numbers              // token numbers: its file has no vocabulary
)

// Request is one that was answered, newest first in State.
type Request struct {
	At     time.Time
	Method string
	Path   string
	Status int
	Took   time.Duration
	Tokens int // generated; 0: none
}

// Endpoint is what the screen needs of the server. Start and Stop may wait.
type Endpoint interface {
	// State returns the last known state without waiting.
	State() State
	// Subscribe has fn called, from any goroutine, when the state changed.
	Subscribe(fn func()) (cancel func())
	// Start listens, and stays on at the next start of the application. Where it is on already it moves.
	Start(ctx context.Context, c Config) error
	// Stop ends listening; c is kept for the next time.
	Stop(ctx context.Context, c Config) error
	// NewKey returns a key that cannot be guessed.
	NewKey() string
}
