// Package library is the screen of models: what is on this computer, whether it fits, and what other programs have
// downloaded.
package library

import "context"

// Fit says whether a model can be loaded on this machine.
type Fit int

const (
	FitUnknown Fit = iota
	Fits
	Tight
	TooBig
)

// Model is an entry of the library.
type Model struct {
	ID, Name     string
	Path         string // of the first file
	Files        int    // parts of a split model; 0 or 1: one file
	Architecture string
	Quantization string
	Bytes        int64
	Parameters   int64
	Context      int // tokens, as the file says
	Layers       int
	Embedding    int
	Vocab        int
	License      string
	NoVocab      bool // its tokens have no texts
	HasTemplate  bool
	CanThink     bool

	Sample  bool
	Missing bool   // its file is gone
	Problem string // why the file cannot be used; "": it can
	Fit     Fit
	Reason  string // one sentence about Fit
}

// onlyContinues tells whether the model can be used, but not for conversations.
func (m Model) onlyContinues() bool {
	return (!m.HasTemplate || m.NoVocab) && !m.Missing && m.Problem == ""
}

// Found is a model that another program has on this computer.
type Found struct {
	Path         string
	Name         string
	From         string // "LM Studio"
	Quantization string
	Bytes        int64
}

// Added is the outcome of adding files and folders.
type Added struct {
	Names  []string // what is new or known already
	Failed []string // for each file that could not be read its name and why
}

// Models is what the screen needs of the library. Methods may wait for the disk.
type Models interface {
	// List returns the sample first, then by name.
	List(ctx context.Context) ([]Model, error)
	// Found looks through the folders of other programs, leaving out what List has.
	Found(ctx context.Context) ([]Found, error)
	// Add takes files and folders; files that cannot be used are told in Added.
	Add(ctx context.Context, paths []string) (Added, error)
	// Remove takes an entry out of the list, never a file off the disk; Restore brings it back.
	Remove(ctx context.Context, id string) error
	Restore(ctx context.Context, id string) error
	// Subscribe has fn called, from any goroutine, when the list may have changed.
	Subscribe(fn func()) (cancel func())
}
