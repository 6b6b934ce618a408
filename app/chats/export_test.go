package chats

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"ingot/storage"
)

func TestExportAndImport(t *testing.T) {
	s := fresh(t)
	id := must[storage.Conversation](t)(s.New(Start{Model: "qwen", Reasoning: "on", System: "Be brief."})).ID
	must[storage.Message](t)(s.Append(id, "What is <b>?"))
	d := must[*Draft](t)(s.BeginAnswer(id, "qwen"))
	d.Append("", "An HTML tag </details>.")
	d.Append("Bold.", "")
	no(t, d.Finish(storage.Stats{AnswerTokens: 9}))
	a1 := d.Message().ID
	d = must[*Draft](t)(s.Regenerate(id, a1, "qwen"))
	d.Append("Bold, but", "")
	no(t, d.Stop(nil))
	must[storage.Message](t)(s.Append(id, "Go on"))
	no(t, s.Switch(id, a1))

	var b bytes.Buffer
	no(t, s.Export(id, &b))
	file := b.String()
	other := fresh(t)
	must[storage.Conversation](t)(other.New(Start{})) // so that ids differ
	c := must[storage.Conversation](t)(other.Import(&b))
	for _, leaf := range []int{0, 1} {
		if got, want := shown(t, other, c.ID), shown(t, s, id); got != want {
			t.Errorf("branch %d: %q, want %q", leaf, got, want)
		}
		to := must[Thread](t)(other.Get(c.ID)).Path[1].Siblings[1]
		no(t, other.Switch(c.ID, to))
		no(t, s.Switch(id, must[Thread](t)(s.Get(id)).Path[1].Siblings[1]))
	}
	got := must[Thread](t)(other.Get(c.ID))
	if got.Title != "What is <b>?" || got.Model != "qwen" || got.Reasoning != "on" || got.System != "Be brief." || got.ID == id {
		t.Errorf("%+v", got.Conversation)
	}
	if got.Path[1].State != storage.StateStopped || got.Path[2].Content != "Go on" {
		t.Errorf("%+v", got.Path)
	}

	no(t, s.Switch(id, a1))
	var md strings.Builder
	no(t, s.Markdown(id, &md))
	want := `# What is <b>?

## System

Be brief.

## User

What is <b>?

## Assistant (qwen)

<details><summary>Reasoning</summary>

An HTML tag &lt;/details&gt;.

</details>

Bold.
`
	if md.String() != want {
		t.Errorf("markdown:\n%s", md.String())
	}

	for name, bad := range map[string]string{
		"empty":        "",
		"not JSON":     "Dear diary",
		"other JSON":   `{"messages":[]}`,
		"cut":          file[:len(file)/2],
		"future":       strings.Replace(file, `"version": 1`, `"version": 9`, 1),
		"role":         strings.Replace(file, `"role": "user"`, `"role": "king"`, 1),
		"state":        strings.Replace(file, `"state": "stopped"`, `"state": "odd"`, 1),
		"parent":       strings.Replace(file, `"parent": 1`, `"parent": 4`, 1),
		"id twice":     strings.Replace(file, `"id": 3`, `"id": 2`, 1),
		"leaf":         strings.Replace(file, `"leaf": 2`, `"leaf": 77`, 1),
		"reasoning":    strings.Replace(file, `"reasoning": "on"`, `"reasoning": "perhaps"`, 1),
		"wrong number": strings.Replace(file, `"id": 3`, `"id": -3`, 1),
	} {
		if bad == file {
			t.Fatalf("%s: the case changes nothing", name)
		}
		_, err := other.Import(strings.NewReader(bad))
		if !errors.Is(err, ErrNotExport) {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(name+":", err)
	}
	if n := len(must[[]storage.Conversation](t)(other.List())); n != 2 {
		t.Errorf("%d conversations after bad imports", n)
	}
}

func FuzzImport(f *testing.F) {
	f.Add(`{"format":"ingot.conversation","version":1,"conversation":{"title":"x","leaf":2},"messages":[{"id":1,"role":"user","state":"complete"},{"id":2,"parent":1,"role":"assistant","state":"writing"}]}`)
	f.Add(`{"format":"ingot.conversation","version":1,"conversation":{"chosen":{"0":1,"9":9}},"messages":[]}`)
	s := fresh(f)
	f.Fuzz(func(t *testing.T, in string) {
		c, err := s.Import(strings.NewReader(in))
		if err != nil {
			return
		}
		th, err := s.Get(c.ID)
		if err != nil || th.Leaf != 0 && len(th.Path) == 0 {
			t.Fatalf("imported, but %v %v", th, err)
		}
		var b bytes.Buffer
		if err := s.Export(c.ID, &b); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Import(&b); err != nil {
			t.Fatalf("its own export: %v", err)
		}
	})
}
