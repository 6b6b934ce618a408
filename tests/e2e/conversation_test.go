//go:build linux && !headless

package e2e

import (
	"os"
	"strings"
	"testing"

	"ingot/storage"
)

// A first conversation: a question, an answer that arrives in pieces, and both there again after a restart.
func TestConversation(t *testing.T) {
	sc := newScreen(t, 1100, 740)
	h := newHome(t, nil)
	const question = "What can you do?"
	a := start(t, sc, h)
	sc.settled(t)
	sc.save(t, "conversation-1-start")
	empty := sc.look()

	steps := a.ask(question, 0)
	t.Logf("marks of the thread, each time that it had changed: %v", steps)
	grew := 0
	for i := 1; i < len(steps); i++ {
		if steps[i] > steps[i-1] {
			grew++
		}
	}
	if grew < 4 {
		t.Errorf("the answer grew %d times on the screen, expected it in more pieces: %v", grew, steps)
	}
	sc.settled(t)
	sc.save(t, "conversation-2-answer")
	a.quit()
	if said, err := os.ReadFile(a.log.Name()); err != nil || len(said) > 0 {
		t.Errorf("the program wrote %q, %v", said, err)
	}

	want := h.answer(t, question)
	checkTalk(t, h.talks(t), question, want)

	a = start(t, sc, h)
	sc.settled(t)
	sc.save(t, "conversation-3-restart")
	again := sc.look()
	if list := conversations(again); again.ink(list, sidebar) == empty.ink(list, sidebar) {
		t.Error("the list of conversations looks as it did before there was one")
	}
	a.openNewest()
	sc.settled(t)
	sc.save(t, "conversation-4-found")
	opened := sc.look()
	if opened.count(thread(opened), bubble) < 1000 {
		t.Error("the question is not on the screen after its conversation was opened")
	}
	if n, last := opened.ink(thread(opened), page), steps[len(steps)-1]; n < last*9/10 {
		t.Errorf("the opened conversation shows %d marks, when it was written it showed %d", n, last)
	}
	a.quit()
	checkTalk(t, h.talks(t), question, want)
}

// checkTalk compares what lies on disk with one question and its answer.
func checkTalk(t *testing.T, all []talk, question, answer string) {
	t.Helper()
	if len(all) != 1 || len(all[0].messages) != 2 {
		t.Fatalf("on disk: %+v, expected one conversation of two messages", all)
	}
	q, m := all[0].messages[0], all[0].messages[1]
	if q.Role != "user" || q.Content != question {
		t.Errorf("on disk: %s %q, expected the question %q", q.Role, q.Content, question)
	}
	if got := strings.TrimSpace(m.Content); m.Role != "assistant" || m.State != storage.StateComplete || got != answer {
		t.Errorf("on disk: %s, %s, %q, expected the complete answer %q", m.Role, m.State, got, answer)
	}
	if all[0].Title == "" || m.Stats.AnswerTokens == 0 || m.Stats.Finish != "stop" {
		t.Errorf("on disk: title %q and %+v", all[0].Title, m.Stats)
	}
}
