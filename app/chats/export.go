package chats

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"ingot/storage"
)

// ErrNotExport is returned when what is imported is not a conversation that Export wrote.
var ErrNotExport = errors.New("not an exported conversation")

const (
	exportFormat  = "ingot.conversation"
	exportVersion = 1
	importLimit   = 256 << 20 // bytes
)

// exported is the file's form: all branches, ids as they were.
type exported struct {
	Format       string               `json:"format"`
	Version      int                  `json:"version"`
	Conversation storage.Conversation `json:"conversation"`
	Messages     []storage.Message    `json:"messages"`
}

// Export writes a conversation with all its branches as JSON that Import reads.
func (s *Service) Export(id storage.ID, w io.Writer) error {
	e := exported{Format: exportFormat, Version: exportVersion}
	err := s.db.View(func(tx *storage.Tx) (err error) {
		if e.Conversation, err = tx.Conversation(id); err != nil {
			return err
		}
		e.Messages, err = tx.Messages(id)
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	e.Conversation.Deleted = time.Time{}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}

// Import adds a conversation that Export wrote, under ids of its own.
func (s *Service) Import(r io.Reader) (storage.Conversation, error) {
	var none storage.Conversation
	lim := &io.LimitedReader{R: r, N: importLimit + 1}
	var e exported
	if err := json.NewDecoder(lim).Decode(&e); err != nil {
		if lim.N == 0 {
			return none, fmt.Errorf("import: %w: larger than %d MiB", ErrNotExport, importLimit>>20)
		}
		return none, fmt.Errorf("import: %w: %v", ErrNotExport, err)
	}
	if err := e.check(); err != nil {
		return none, fmt.Errorf("import: %w: %v", ErrNotExport, err)
	}
	c := e.Conversation
	err := s.db.Update(func(tx *storage.Tx) error {
		c.ID = 0
		if err := tx.PutConversation(&c); err != nil {
			return err
		}
		ids := map[storage.ID]storage.ID{0: 0}
		for _, m := range e.Messages {
			old := m.ID
			m.ID, m.Parent = 0, ids[m.Parent]
			if m.State == storage.StateWriting {
				m.State = storage.StatePartial
			}
			if err := tx.PutMessage(c.ID, &m); err != nil {
				return err
			}
			ids[old] = m.ID
		}
		c.Leaf, c.Chosen = ids[c.Leaf], nil
		for parent, child := range e.Conversation.Chosen {
			if ids[child] != 0 && (parent == 0 || ids[parent] != 0) {
				if c.Chosen == nil {
					c.Chosen = map[storage.ID]storage.ID{}
				}
				c.Chosen[ids[parent]] = ids[child]
			}
		}
		return tx.PutConversation(&c)
	})
	if err != nil {
		return none, fmt.Errorf("import: %w", err)
	}
	s.Send(Change{Kind: Added, Conversation: c.ID})
	return c, nil
}

// check refuses what Export never writes, and fills in times that are missing.
func (e *exported) check() error {
	if e.Format != exportFormat {
		return fmt.Errorf("format %q", e.Format)
	}
	if e.Version < 1 || e.Version > exportVersion {
		return fmt.Errorf("version %d, this Ingot reads %d", e.Version, exportVersion)
	}
	if err := checkReasoning(e.Conversation.Reasoning); err != nil {
		return err
	}
	seen := map[storage.ID]bool{0: true}
	last := storage.ID(0)
	for _, m := range e.Messages {
		switch m.Role {
		case "system", "user", "assistant", "tool":
		default:
			return fmt.Errorf("message %d has role %q", m.ID, m.Role)
		}
		switch m.State {
		case storage.StateComplete, storage.StateWriting, storage.StatePartial, storage.StateStopped, storage.StateError:
		default:
			return fmt.Errorf("message %d has state %q", m.ID, m.State)
		}
		if m.ID <= last {
			return fmt.Errorf("message %d comes after %d", m.ID, last)
		}
		if !seen[m.Parent] { // parents come first, so there is no cycle
			return fmt.Errorf("message %d follows %d, which is not before it", m.ID, m.Parent)
		}
		seen[m.ID], last = true, m.ID
	}
	if !seen[e.Conversation.Leaf] || e.Conversation.Leaf == 0 && len(e.Messages) > 0 {
		return fmt.Errorf("it ends with message %d, which it does not have", e.Conversation.Leaf)
	}
	c := &e.Conversation
	now := time.Now()
	if c.Created.Before(time.Unix(0, 0)) || c.Created.After(now) {
		c.Created = now
	}
	if c.Updated.Before(c.Created) || c.Updated.After(now) {
		c.Updated = c.Created
	}
	c.Deleted = time.Time{}
	return nil
}

// Markdown writes the visible path for people to read. Thoughts are folded.
func (s *Service) Markdown(id storage.ID, w io.Writer) error {
	t, err := s.Get(id)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	var b strings.Builder
	name := t.Title
	if name == "" {
		name = "Conversation"
	}
	fmt.Fprintf(&b, "# %s\n", name)
	if t.System != "" {
		fmt.Fprintf(&b, "\n## System\n\n%s\n", strings.TrimSpace(t.System))
	}
	for _, n := range t.Path {
		who := strings.ToUpper(n.Role[:1]) + n.Role[1:]
		if n.Role == "assistant" && n.Model != "" {
			who += " (" + n.Model + ")"
		}
		fmt.Fprintf(&b, "\n## %s\n", who)
		if n.Reasoning != "" {
			fmt.Fprintf(&b, "\n<details><summary>Reasoning</summary>\n\n%s\n\n</details>\n", html.EscapeString(strings.TrimSpace(n.Reasoning)))
		}
		if c := strings.TrimSpace(n.Content); c != "" {
			fmt.Fprintf(&b, "\n%s\n", c)
		}
		switch {
		case n.State == storage.StateError:
			fmt.Fprintf(&b, "\n*Ended by an error: %s*\n", n.Error)
		case n.State != storage.StateComplete:
			fmt.Fprintf(&b, "\n*Not complete (%s)*\n", n.State)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}
