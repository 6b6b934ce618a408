package openai

import "ingot/engine"

// Model is an entry of GET /v1/models.
type Model struct {
	ID      string     `json:"id"`
	Object  string     `json:"object"`
	Created int64      `json:"created"`
	OwnedBy string     `json:"owned_by"`
	Aliases []string   `json:"aliases,omitempty"` // other names that requests may use
	Meta    *ModelMeta `json:"meta,omitempty"`    // absent while the model loads
}

// ModelMeta is llama-server's extension, with a few words more.
type ModelMeta struct {
	Vocab        int    `json:"n_vocab"`
	Context      int    `json:"n_ctx"`
	TrainContext int    `json:"n_ctx_train"`
	Embedding    int    `json:"n_embd"`
	Parameters   int64  `json:"n_params"`
	Size         int64  `json:"size"` // bytes of the file
	Architecture string `json:"architecture"`
	Quantization string `json:"quantization"`
	CanThink     bool   `json:"can_think"`
}

// ModelList is the answer of GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// NewModel describes a model under id; info is nil while it loads.
func NewModel(id string, aliases []string, created int64, info *engine.Info) Model {
	m := Model{ID: id, Object: "model", Created: created, OwnedBy: "ingot", Aliases: aliases}
	if info != nil {
		m.Meta = &ModelMeta{
			Vocab: info.Vocab, Context: info.Context, TrainContext: info.TrainContext, Embedding: info.Embedding,
			Parameters: info.Parameters, Size: info.FileBytes, Architecture: info.Architecture,
			Quantization: info.Quantization, CanThink: info.CanThink,
		}
	}
	return m
}
