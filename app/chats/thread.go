package chats

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ingot/storage"
)

// Thread is what a window shows of a conversation: the path from a root to the leaf.
type Thread struct {
	storage.Conversation
	Path []Node
	Busy bool // an answer is being written, on this path or another
}

// Node is a message on the path, with the messages that could stand in its place.
type Node struct {
	storage.Message
	Siblings []storage.ID // oldest first, this one among them
	Index    int          // of this one
}

// Get returns a conversation with its visible path. An answer that is being written has its text so far.
func (s *Service) Get(id storage.ID) (Thread, error) {
	var t Thread
	var all []storage.Message
	err := s.db.View(func(tx *storage.Tx) (err error) {
		if t.Conversation, err = tx.Conversation(id); err != nil {
			return err
		}
		all, err = tx.Messages(id)
		return err
	})
	if err != nil {
		return Thread{}, err
	}
	d := s.Writing(id)
	t.Busy = d != nil
	t.Path = newTree(all).path(t.Leaf)
	if d != nil {
		now := d.Message()
		for i := range t.Path {
			if t.Path[i].ID == now.ID {
				t.Path[i].Message = now
			}
		}
	}
	return t, nil
}

// Append adds a question to the end of the path.
func (s *Service) Append(id storage.ID, text string) (storage.Message, error) {
	return s.ask(id, text, func(_ *storage.Tx, c *storage.Conversation) (storage.ID, error) { return c.Leaf, nil })
}

// Edit asks a question anew in the place of another: a sibling, so the old one and its answers stay.
func (s *Service) Edit(id, question storage.ID, text string) (storage.Message, error) {
	return s.ask(id, text, func(tx *storage.Tx, _ *storage.Conversation) (storage.ID, error) {
		old, err := tx.Message(id, question)
		if err == nil && old.Role != "user" {
			err = fmt.Errorf("edit: %w", ErrWrongMessage)
		}
		return old.Parent, err
	})
}

// ask saves a question below the message that parent names, and moves the leaf to it.
func (s *Service) ask(id storage.ID, text string, parent func(*storage.Tx, *storage.Conversation) (storage.ID, error)) (storage.Message, error) {
	if strings.TrimSpace(text) == "" {
		return storage.Message{}, ErrEmpty
	}
	if s.Writing(id) != nil {
		return storage.Message{}, ErrBusy
	}
	m := storage.Message{Role: "user", Content: text, State: storage.StateComplete, Created: time.Now()}
	err := s.edit(id, func(tx *storage.Tx, c *storage.Conversation) (err error) {
		if m.Parent, err = parent(tx, c); err != nil {
			return err
		}
		if !c.Named && c.Title == "" {
			c.Title = title(text)
		}
		return add(tx, c, &m)
	})
	if err != nil {
		return storage.Message{}, fmt.Errorf("save the message: %w", err)
	}
	s.Send(Change{Kind: Messages, Conversation: id, Message: m.ID})
	s.Send(Change{Kind: Changed, Conversation: id})
	return m, nil
}

// add saves a new message and makes it the leaf. The caller saves c.
func add(tx *storage.Tx, c *storage.Conversation, m *storage.Message) error {
	if err := tx.PutMessage(c.ID, m); err != nil {
		return err
	}
	delete(c.Chosen, m.Parent) // the newest is shown
	c.Leaf, c.Updated = m.ID, m.Created
	return nil
}

// Switch shows the path through a message, such as a sibling of one that is shown, down to where it was last left.
func (s *Service) Switch(id, message storage.ID) error {
	err := s.edit(id, func(tx *storage.Tx, c *storage.Conversation) error {
		all, err := tx.Messages(id)
		if err != nil {
			return err
		}
		t := newTree(all)
		m, ok := t.byID[message]
		if !ok {
			return fmt.Errorf("message %d: %w", message, storage.ErrNotFound)
		}
		if c.Chosen == nil {
			c.Chosen = map[storage.ID]storage.ID{}
		}
		c.Chosen[m.Parent] = message
		c.Leaf = t.descend(message, c.Chosen)
		return nil
	})
	if err != nil {
		return fmt.Errorf("switch: %w", err)
	}
	s.Send(Change{Kind: Messages, Conversation: id, Message: message})
	return nil
}

// tree is all messages of a conversation. Children are oldest first.
type tree struct {
	byID     map[storage.ID]storage.Message
	children map[storage.ID][]storage.ID
}

func newTree(all []storage.Message) tree {
	t := tree{map[storage.ID]storage.Message{}, map[storage.ID][]storage.ID{}}
	for _, m := range all { // in the order of ids
		t.byID[m.ID] = m
		t.children[m.Parent] = append(t.children[m.Parent], m.ID)
	}
	return t
}

// descend goes from a message to a leaf: by choice where there is one, else by the newest child.
func (t tree) descend(from storage.ID, chosen map[storage.ID]storage.ID) storage.ID {
	for range len(t.byID) {
		kids := t.children[from]
		if len(kids) == 0 {
			break
		}
		next := kids[len(kids)-1]
		if c := chosen[from]; slices.Contains(kids, c) {
			next = c
		}
		from = next
	}
	return from
}

// path goes from the root to the leaf. It ends, whatever the parents are.
func (t tree) path(leaf storage.ID) []Node {
	var p []Node
	for len(p) < len(t.byID) {
		m, ok := t.byID[leaf]
		if !ok {
			break
		}
		sib := t.children[m.Parent]
		p = append(p, Node{m, sib, slices.Index(sib, m.ID)})
		leaf = m.Parent
	}
	slices.Reverse(p)
	return p
}
