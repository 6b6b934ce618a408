package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"ingot/engine"
)

// interrupting is a screen whose reader presses Ctrl-C once, when an answer begins.
type interrupting struct {
	bytes.Buffer
	once sync.Once
}

func (w *interrupting) Write(p []byte) (int, error) {
	w.once.Do(func() {
		pressed := make(chan os.Signal, 1)
		signal.Notify(pressed, os.Interrupt)
		defer signal.Stop(pressed)
		syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-pressed
		time.Sleep(50 * time.Millisecond) // for the conversation to hear of it too
	})
	return w.Buffer.Write(p)
}

// Ctrl-C ends an answer and not the conversation, though for the rest of the program it ends everything.
func TestInterruptEndsAnAnswer(t *testing.T) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	e, err := engine.Open("../../assets/sample/sample-Q8_0.gguf", engine.Options{Level: "generic", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	env := &Env{Stdin: bytes.NewBufferString("What is a river?\nWhat is a mountain?\n"), Stdout: &interrupting{}, Stderr: io.Discard}
	c := conversation{env: env, e: e, o: &runOptions{reasoning: "off"}}
	if err := c.talk(ctx); err != nil {
		t.Fatal(err)
	}
	if len(c.messages) != 4 || c.messages[2].Content != "What is a mountain?" || len(c.messages[3].Content) < 10 {
		t.Fatalf("after an interrupted answer and a second question the conversation is %q", c.messages)
	}
	if first, second := len(c.messages[1].Content), len(c.messages[3].Content); first >= second {
		t.Errorf("the interrupted answer has %d bytes, the other %d", first, second)
	}
}
