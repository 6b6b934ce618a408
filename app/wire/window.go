//go:build !headless

package wire

import (
	"context"
	"io"
	"log"
	"os"
	"runtime"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"

	"ingot/app/chats"
	"ingot/app/prefs"
	"ingot/app/window"
	"ingot/app/window/chat"
	"ingot/app/window/theme"
	"ingot/assets"
)

// noWindow says why there is no window; "" where there can be one.
func noWindow() string {
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return "there is no display"
	}
	return ""
}

// window opens the application and returns when it is closed.
func (h *house) window(ctx context.Context) error {
	db, err := h.database()
	if err != nil {
		return err
	}
	p, err := prefs.Open(db)
	if err != nil {
		return err
	}
	talks, err := chats.Open(db)
	if err != nil {
		return err
	}
	defer talks.Close()
	lib, err := h.library()
	if err != nil {
		return err
	}
	desk := newDeskEngine(lib, p)
	defer desk.close()
	conversations := &deskChats{chats: talks, desk: desk}
	endpoint := newDeskServer(desk)

	a := app.NewWithID("io.github.ingot.Ingot")
	a.SetIcon(fyne.NewStaticResource("ingot.png", assets.Icon))
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
	// The toolkit reads its own preferences while it writes them at the end, and complains of an empty file.
	a.Lifecycle().SetOnStopped(func() { log.SetOutput(io.Discard) })
	context.AfterFunc(ctx, func() { fyne.Do(a.Quit) })
	// The chosen model loads while the window opens, so that the first question need not wait for it.
	go desk.need(ctx, "")
	w.Run()
	return nil
}
