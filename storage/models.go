package storage

import (
	"fmt"
	"time"
)

// ModelInfo is what a model's files say about it. Zero means that they do not say.
type ModelInfo struct {
	Title        string   `json:"title,omitempty"` // general.name
	Architecture string   `json:"architecture"`
	Quantization string   `json:"quantization,omitempty"`
	Parameters   int64    `json:"parameters,omitempty"`
	FileBytes    int64    `json:"file_bytes"`        // all parts
	Context      int      `json:"context,omitempty"` // tokens the model was trained for
	Layers       int      `json:"layers,omitempty"`
	Parts        []string `json:"parts,omitempty"`        // paths of a split file, in order; empty: one file
	KVPerToken   int64    `json:"kv_per_token,omitempty"` // bytes of cache at F16 that a token takes, all layers
	StateBytes   int64    `json:"state_bytes,omitempty"`  // recurrent state of a slot, whatever its length
	Vocab        int      `json:"vocab,omitempty"`        // token ids; 0: read before this was kept
	NoVocab      bool     `json:"no_vocab,omitempty"`     // they have no texts
	HasTemplate  bool     `json:"has_template,omitempty"`
	CanThink     bool     `json:"can_think,omitempty"`
	Problem      string   `json:"problem,omitempty"` // why this Ingot cannot run it; empty: it can
}

// Model is an entry of the library. It points at files and owns none.
type Model struct {
	ID       ID        `json:"id"`
	Name     string    `json:"name"`  // what people type to name it
	Paths    []string  `json:"paths"` // absolute, first part first; never empty
	Source   string    `json:"source"`
	Ref      string    `json:"ref,omitempty"` // how its store names it, such as user/repo:QUANT
	Info     ModelInfo `json:"info"`
	Added    time.Time `json:"added"`
	Modified time.Time `json:"modified"` // of the first part when Info was read
}

// PutModel saves a model. One with ID 0 is new and gets its id.
func (tx *Tx) PutModel(m *Model) error {
	if m.ID == 0 {
		n, err := tx.models().NextSequence()
		if err != nil {
			return fmt.Errorf("new model: %w", err)
		}
		m.ID = ID(n)
	}
	return put(tx.models(), "model", m.ID, m)
}

// Model returns one model, or ErrNotFound.
func (tx *Tx) Model(id ID) (Model, error) { return get[Model](tx.models(), "model", id) }

// Models returns every model in the order they were added.
func (tx *Tx) Models() ([]Model, error) { return all[Model](tx.models(), "model") }

// DeleteModel forgets a model; its files are not touched. It returns ErrNotFound when there is none.
func (tx *Tx) DeleteModel(id ID) error {
	if tx.models().Get(key(id)) == nil {
		return fmt.Errorf("model %d: %w", id, ErrNotFound)
	}
	return tx.models().Delete(key(id))
}
