// Package prefs is the settings of the application, checked and kept, and the folders it uses.
package prefs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ingot/app/feed"
	"ingot/storage"
)

// Settings is everything a user can set. Defaults says what each field starts with.
type Settings struct {
	Theme     string `json:"theme"`     // system, light, dark
	Language  string `json:"language"`  // "" (as the system), en, zh
	Model     string `json:"model"`     // of new conversations, as the library finds it; "": the sample model
	Reasoning string `json:"reasoning"` // of new conversations: "" (auto), on, off
	System    string `json:"system"`    // instructions of new conversations

	Engine   Engine   `json:"engine"`
	Sampling Sampling `json:"sampling"`
	Server   Server   `json:"server"`
	Window   Window   `json:"window"`

	LastConversation storage.ID `json:"last_conversation"`
}

// Engine says how a model is loaded. A change takes effect with the next load.
type Engine struct {
	Threads int      `json:"threads"` // 0: one a physical core
	Context int      `json:"context"` // tokens a slot holds; 0: what the file says, at most 4096
	Slots   int      `json:"slots"`   // sequences at once; 0: 1
	UBatch  int      `json:"ubatch"`  // rows a program takes; 0: 512
	Level   string   `json:"level"`   // CPU instruction set; "": the best this machine has
	Repack  bool     `json:"repack"`
	Cards   []string `json:"cards"`   // nil: the CPU
	TPS     int      `json:"tps"`     // lanes a stage; 0: all cards in one
	Split   string   `json:"split"`   // "", none, layer, tensor
	Load    string   `json:"load"`    // "" or mmap, none, dio, mlock
	KVType  string   `json:"kv_type"` // element type of the KV cache
	VType   string   `json:"v_type"`  // of its values, where not that of the keys; "": the same
}

// Sampling says how tokens are chosen where a request does not say.
type Sampling struct {
	Temperature      float64 `json:"temperature"`    // 0: greedy
	TopK             int     `json:"top_k"`          // 0: all
	TopP             float64 `json:"top_p"`          // 1: off
	MinP             float64 `json:"min_p"`          // 0: off
	RepeatPenalty    float64 `json:"repeat_penalty"` // 1: off
	PresencePenalty  float64 `json:"presence_penalty"`
	FrequencyPenalty float64 `json:"frequency_penalty"`
	PenaltyLastN     int     `json:"penalty_last_n"` // tokens the penalties look back; -1: all
	Seed             uint64  `json:"seed"`           // used when Seeded
	Seeded           bool    `json:"seeded"`
	MaxTokens        int     `json:"max_tokens"` // of an answer; 0: up to the end of the context
}

// Server is the OpenAI-compatible endpoint for other programs.
type Server struct {
	Enabled bool   `json:"enabled"`
	Host    string `json:"host"`
	Port    int    `json:"port"`
	Key     string `json:"key"` // "": none; required beyond loopback
}

// Window is how the window was left; 0: as the toolkit likes.
type Window struct {
	Width   float32 `json:"width"`
	Height  float32 `json:"height"`
	Sidebar float64 `json:"sidebar"` // share of the width, 0..1
}

// Defaults returns the settings of a first start.
func Defaults() Settings {
	return Settings{
		Theme:    "system",
		Engine:   Engine{Repack: true, KVType: "f16"},
		Sampling: Sampling{Temperature: 0.7, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1, PenaltyLastN: 64},
		Server:   Server{Host: "127.0.0.1", Port: 11500},
		Window:   Window{Width: 1100, Height: 740, Sidebar: 0.25},
	}
}

// setting is the name that the storage knows the settings by.
const setting = "settings"

// Service holds the settings of one database. It is safe for concurrent use. Subscribe is told the new settings
// after each change.
type Service struct {
	feed.Of[Settings]
	db *storage.DB

	mu       sync.Mutex
	now      Settings
	problems Problems
}

// Open reads the settings. What is not saved, or not valid any more, has its default; Problems says of which.
func Open(db *storage.DB) (*Service, error) {
	s := &Service{db: db, now: Defaults()}
	err := db.View(func(tx *storage.Tx) error { return tx.Setting(setting, &s.now) })
	var wrong *json.UnmarshalTypeError // the other fields were read
	switch {
	case errors.As(err, &wrong):
		s.problems = append(s.problems, Problem{wrong.Field, fmt.Sprintf("The saved value is a %s.", wrong.Value)})
	case err != nil && !errors.Is(err, storage.ErrNotFound):
		return nil, err
	}
	defaults := Defaults()
	for _, c := range checks {
		if text := c.wrong(&s.now); text != "" {
			s.problems = append(s.problems, Problem{c.field, text})
			c.reset(&s.now, &defaults)
		}
	}
	return s, nil
}

// Problems returns what Open found wrong with the saved settings.
func (s *Service) Problems() Problems { return slices.Clone(s.problems) }

// Get returns the settings as they are now.
func (s *Service) Get() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.clone()
}

// LoadMode is how a file gets into memory, the usual way spelled out.
func (e Engine) LoadMode() string {
	if e.Load == "" {
		return "mmap"
	}
	return e.Load
}

// CacheTypes are the element types of the KV cache.
func (e *Engine) CacheTypes() (keys, values string) {
	if e.VType == "" {
		return e.KVType, e.KVType
	}
	return e.KVType, e.VType
}

func (s Settings) clone() Settings {
	s.Engine.Cards = slices.Clone(s.Engine.Cards)
	return s
}

// Update changes the settings by fn. Where a field is not valid it returns Problems and nothing is changed; when
// it returns nil the settings are on disk and the listeners know.
func (s *Service) Update(fn func(*Settings)) error {
	s.mu.Lock()
	next := s.now.clone()
	fn(&next)
	err := next.Validate()
	if err == nil {
		err = s.db.Update(func(tx *storage.Tx) error { return tx.PutSetting(setting, next) })
		if err != nil {
			err = fmt.Errorf("save the settings: %w", err)
		}
	}
	if err == nil {
		s.now = next.clone()
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.Send(next)
	return nil
}

// Reset goes back to the defaults. The window's size and the last conversation stay.
func (s *Service) Reset() error {
	return s.Update(func(now *Settings) {
		d := Defaults()
		d.Window, d.LastConversation = now.Window, now.LastConversation
		*now = d
	})
}

// Problem is one field that is not valid.
type Problem struct {
	Field string // as in the JSON, such as server.port
	Text  string // a sentence
}

// Problems is the error of settings that are not valid.
type Problems []Problem

func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i := range p {
		texts[i] = p[i].Text
	}
	return strings.Join(texts, " ")
}

// Of returns the sentence about a field, or "".
func (p Problems) Of(field string) string {
	for _, q := range p {
		if q.Field == field {
			return q.Text
		}
	}
	return ""
}
