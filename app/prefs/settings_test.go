package prefs

import (
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ingot/storage"
)

func openDB(t *testing.T) *storage.DB {
	t.Helper()
	db, err := storage.Open(filepath.Join(t.TempDir(), "ingot.db"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestDefaultsAreValid(t *testing.T) {
	d := Defaults()
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSaveAndReload(t *testing.T) {
	db := openDB(t)
	s, err := Open(db)
	if err != nil || !reflect.DeepEqual(s.Get(), Defaults()) {
		t.Fatalf("first start: %+v %v", s.Get(), err)
	}
	var told []Settings
	s.Subscribe(func(now Settings) { told = append(told, now); s.Get() })
	cards := []string{"cpu:0", "cpu:1"}
	err = s.Update(func(now *Settings) {
		now.Theme, now.Engine.Repack, now.Engine.Cards, now.Engine.TPS = "dark", false, cards, 2
		now.Server.Key, now.LastConversation = NewKey(), 12
	})
	if err != nil || len(told) != 1 || told[0].Theme != "dark" {
		t.Fatalf("%v, told %v", err, told)
	}
	cards[0] = "changed by the caller"
	s.Get().Engine.Cards[1] = "changed by a reader"
	again, err := Open(db)
	if err != nil || !reflect.DeepEqual(again.Get(), s.Get()) || again.Get().Engine.Cards[0] != "cpu:0" || again.Problems() != nil {
		t.Errorf("reloaded %+v %v %v", again.Get(), err, again.Problems())
	}
	if err := s.Reset(); err != nil || s.Get().Theme != "system" || s.Get().LastConversation != 12 {
		t.Errorf("reset: %+v %v", s.Get(), err)
	}
}

func TestEveryCheck(t *testing.T) {
	bad := map[string]func(*Settings){
		"theme":                      func(s *Settings) { s.Theme = "pink" },
		"language":                   func(s *Settings) { s.Language = "xx" },
		"reasoning":                  func(s *Settings) { s.Reasoning = "auto" },
		"engine.threads":             func(s *Settings) { s.Engine.Threads = -1 },
		"engine.context":             func(s *Settings) { s.Engine.Context = 5 },
		"engine.slots":               func(s *Settings) { s.Engine.Slots = 1000 },
		"engine.ubatch":              func(s *Settings) { s.Engine.UBatch = 1 << 20 },
		"engine.level":               func(s *Settings) { s.Engine.Level = "sse" },
		"engine.split":               func(s *Settings) { s.Engine.Split = "row" },
		"engine.kv_type":             func(s *Settings) { s.Engine.KVType = "q3" },
		"engine.load":                func(s *Settings) { s.Engine.Load = "swap" },
		"engine.v_type":              func(s *Settings) { s.Engine.VType = "q3" },
		"engine.tps":                 func(s *Settings) { s.Engine.Cards, s.Engine.TPS = []string{"a", "b", "c", "d"}, 3 },
		"sampling.temperature":       func(s *Settings) { s.Sampling.Temperature = math.NaN() },
		"sampling.top_k":             func(s *Settings) { s.Sampling.TopK = -1 },
		"sampling.top_p":             func(s *Settings) { s.Sampling.TopP = 1.5 },
		"sampling.min_p":             func(s *Settings) { s.Sampling.MinP = -0.5 },
		"sampling.repeat_penalty":    func(s *Settings) { s.Sampling.RepeatPenalty = 0 },
		"sampling.presence_penalty":  func(s *Settings) { s.Sampling.PresencePenalty = 3 },
		"sampling.frequency_penalty": func(s *Settings) { s.Sampling.FrequencyPenalty = math.Inf(-1) },
		"sampling.penalty_last_n":    func(s *Settings) { s.Sampling.PenaltyLastN = -2 },
		"sampling.max_tokens":        func(s *Settings) { s.Sampling.MaxTokens = -1 },
		"server.host":                func(s *Settings) { s.Server.Host = "http://localhost:8080" },
		"server.port":                func(s *Settings) { s.Server.Port = 70000 },
		"server.key":                 func(s *Settings) { s.Server.Enabled, s.Server.Host = true, "0.0.0.0" },
		"window.width":               func(s *Settings) { s.Window.Width = -3 },
		"window.height":              func(s *Settings) { s.Window.Height = 1e6 },
		"window.sidebar":             func(s *Settings) { s.Window.Sidebar = 2 },
	}
	db := openDB(t)
	s, err := Open(db)
	if err != nil {
		t.Fatal(err)
	}
	s.Subscribe(func(Settings) { t.Error("told of a change that was refused") })
	for _, c := range checks {
		spoil := bad[c.field]
		if spoil == nil {
			t.Errorf("no case for %s", c.field)
			continue
		}
		err := s.Update(spoil)
		var p Problems
		if !errors.As(err, &p) || len(p) != 1 || !strings.HasSuffix(p.Of(c.field), ".") {
			t.Errorf("%s: %v", c.field, err)
		}
		t.Log(c.field+":", err)
		fixed, d := Defaults(), Defaults()
		spoil(&fixed)
		c.reset(&fixed, &d)
		if err := fixed.Validate(); err != nil {
			t.Errorf("%s: the reset leaves %v", c.field, err)
		}
		if !reflect.DeepEqual(s.Get(), Defaults()) {
			t.Errorf("%s: a refused change was made", c.field)
		}
	}
	if len(bad) != len(checks) {
		t.Errorf("%d cases, %d checks", len(bad), len(checks))
	}
}

func TestHosts(t *testing.T) {
	for h, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "localhost": true, "LOCALHOST": true,
		"0.0.0.0": false, "::": false, "192.168.1.2": false, "myhost": false, "localhost.example.org": false, "": false} {
		if IsLoopback(h) != want {
			t.Errorf("IsLoopback(%q) is %v", h, !want)
		}
		if h != "" && host(h) != "" {
			t.Error(host(h))
		}
	}
	s := Defaults()
	s.Server = Server{Enabled: true, Host: "0.0.0.0", Port: 80, Key: "with space"}
	if s.Validate() == nil {
		t.Error("a key with a space")
	}
	s.Server.Key = NewKey()
	if err := s.Validate(); err != nil || len(s.Server.Key) < 30 || NewKey() == s.Server.Key {
		t.Errorf("%q %v", s.Server.Key, err)
	}
}

// A file from another version, or written by hand, costs only the fields that are wrong.
func TestSavedSettingsThatAreNotValid(t *testing.T) {
	db := openDB(t)
	saved := `{"theme":"pink","language":"zh","engine":{"threads":"many","context":8192},"server":{"port":99999,"host":"localhost"},"unknown":{"x":1}}`
	if err := db.Update(func(tx *storage.Tx) error { return tx.PutSetting(setting, json.RawMessage(saved)) }); err != nil {
		t.Fatal(err)
	}
	s, err := Open(db)
	if err != nil {
		t.Fatal(err)
	}
	got := s.Get()
	if got.Theme != "system" || got.Language != "zh" || got.Engine.Threads != 0 || got.Engine.Context != 8192 ||
		got.Server.Port != 11500 || got.Server.Host != "localhost" || got.Sampling.TopK != 40 {
		t.Errorf("%+v", got)
	}
	p := s.Problems()
	if len(p) != 3 || p.Of("theme") == "" || p.Of("server.port") == "" || p.Of("engine.threads") == "" {
		t.Errorf("%q", p)
	}
	if err := s.Update(func(s *Settings) { s.Theme = "light" }); err != nil {
		t.Error(err)
	}
}
