//go:build !headless

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"strings"
	"syscall"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"

	"ingot/app/chats"
	"ingot/app/cli"
	"ingot/app/library"
	"ingot/app/prefs"
	"ingot/app/window"
	"ingot/app/window/chat"
	"ingot/app/window/theme"
	"ingot/assets"
	"ingot/storage"
)

// contents are what lies in the database, as the window works with it.
type contents struct {
	prefs   *prefs.Service
	chats   *chats.Service
	library *library.Library
}

func (h *house) contents() (s contents, err error) {
	db, err := h.database()
	if err != nil {
		return s, err
	}
	if s.prefs, err = prefs.Open(db); err != nil {
		return s, err
	}
	if s.library, err = h.library(); err != nil {
		return s, err
	}
	s.chats, err = chats.Open(db)
	return s, err
}

func newApp() fyne.App {
	a := app.NewWithID("io.github.ingot.Ingot")
	a.SetIcon(fyne.NewStaticResource("ingot.png", assets.Icon))
	// The toolkit reads its own preferences while it writes them at the end, and complains of an empty file.
	a.Lifecycle().SetOnStopped(func() { log.SetOutput(io.Discard) })
	return a
}

// refuse says in a small window why the application cannot open, for who started it from a desktop sees no standard
// error, and returns when it is closed: anew where a damaged library was set aside and the application can open.
func (h *house) refuse(ctx context.Context, why error) (anew bool) {
	h.close() // who mends it must not find it in use
	a := newApp()
	r := window.Refusal{InUse: errors.Is(why, storage.ErrInUse), Reason: reason(why), Folder: h.paths.Data}
	if st, err := os.Stat(r.Folder); err == nil && st.IsDir() {
		r.Open = func() { a.OpenURL(&url.URL{Scheme: "file", Path: r.Folder}) }
	}
	if errors.Is(why, storage.ErrCorrupt) {
		r.Anew = func() error {
			if _, err := storage.SetAside(h.paths.Database()); err != nil {
				return errors.New(reason(err))
			}
			anew = true
			return nil
		}
	}
	w := window.NewRefusal(a, r)
	context.AfterFunc(ctx, func() { fyne.Do(a.Quit) })
	w.ShowAndRun()
	return anew
}

// again replaces this process by a new one of the same program: the toolkit runs once in a process.
func again() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, os.Environ())
}

// reason is what stands in the way of the library, as a sentence: errors of files begin with the verb that failed.
func reason(err error) string {
	for _, verb := range []string{"open ", "make ", "read ", "write ", "move "} {
		if strings.HasPrefix(err.Error(), verb) {
			err = fmt.Errorf("could not %w", err)
			break
		}
	}
	return sentence(err)
}

// window opens the application and returns when it is closed.
func (h *house) window(ctx context.Context, env *cli.Env) error {
	s, err := h.contents()
	if err != nil {
		said := cli.Report(env, err) // before the small window, which can stay open for long
		if h.refuse(ctx, err) {
			return again()
		}
		return said
	}
	p, talks, lib := s.prefs, s.chats, s.library
	defer talks.Close()
	desk := newDeskEngine(lib, p)
	defer desk.close()
	conversations := &deskChats{chats: talks, desk: desk}
	endpoint := newDeskServer(desk)
	go lib.Refresh(ctx) // files change while no window is open; what cannot be read keeps what it said

	a := newApp()
	set := p.Get()
	w := window.New(a, window.Deps{
		Engine: desk, Conversations: conversations, Answers: conversations, Models: &deskModels{desk}, Library: &deskLibrary{desk: desk},
		Server: endpoint, Settings: &deskSettings{desk, h.paths.Data}, Planner: &deskPlanner{desk}, Theme: theme.Mode(set.Theme), Version: h.version,
		Reasoning: func() chat.Reasoning { return chat.Reasoning(p.Get().Reasoning) },
		Place:     window.Place{Width: set.Window.Width, Height: set.Window.Height},
		Remember: func(at window.Place) {
			p.Update(func(s *prefs.Settings) { s.Window.Width, s.Window.Height = at.Width, at.Height })
		},
	})
	context.AfterFunc(ctx, func() { fyne.Do(a.Quit) })
	// The chosen model loads while the window opens, so that the first question need not wait for it.
	go desk.need(ctx, "")
	w.Run()
	return nil
}
