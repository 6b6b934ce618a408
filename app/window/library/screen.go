package library

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/storage"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// Deps is what the screen is built from.
type Deps struct {
	Models Models
	Engine live.Engine
	Window fyne.Window // for file dialogs
	Notice func(text, button string, do func())
	Use    func(id string) // begins a conversation with a model
	Do     func(func())    // runs on the UI goroutine; nil: fyne.Do
}

// Screen is the library screen. Its methods belong to the UI goroutine.
type Screen struct {
	deps      Deps
	do        func(func())
	models    live.Loader[[]Model]
	elsewhere live.Loader[[]Found]
	changes   live.Sequence
	all       []Model
	found     []Found
	err       error
	loaded    bool
	selected  string
	filter    string
	lines     []line
	running   string    // the model that is loaded
	removed   time.Time // when a model was taken out here
	unlisten  func()
	unwatch   func()

	feed    *widget.Feed
	search  *widget.Field
	note    *fyne.Container
	noteTop *widget.Label
	noteSub *widget.Prose
	details *details
	main    *fyne.Container
}

// line is a row of the list: a model, a model found elsewhere, or a heading.
type line struct {
	heading, sub string // sub alone is a note at the end
	model        *Model
	found        *Found
}

// NewScreen builds the screen.
func NewScreen(deps Deps) *Screen {
	if deps.Do == nil {
		deps.Do = fyne.Do
	}
	t := words.T()
	s := &Screen{deps: deps, do: deps.Do}
	s.models.Do, s.elsewhere.Do = s.do, s.do
	s.feed = widget.NewFeed(s.build, func(int, float32) float32 { return 66 })
	s.feed.FromTop, s.feed.Side, s.feed.Gap, s.feed.Top, s.feed.Bottom = true, theme.XL, theme.S, theme.XS, theme.XL
	s.search = widget.NewField("", t.SearchModels)
	s.search.OnChanged = func(text string) { s.filter = text; s.show() }
	s.noteTop, s.noteSub = widget.Strong(""), widget.NewProse(widget.Style{Color: theme.Muted, Align: fyne.TextAlignCenter})
	s.noteTop.Size_, s.noteTop.Align = "subHeadingText", fyne.TextAlignCenter
	s.note = widget.Inset(90, theme.XL, 0, theme.XL, widget.Measure(380, widget.Column(theme.S,
		widget.NewIcon(theme.IconLibrary, theme.Faint, 40), s.noteTop, s.noteSub)))
	s.details = newDetails(s)

	addFile := widget.NewButton(t.AddFile, theme.IconPlus, widget.Primary, s.pickFile)
	addFolder := widget.NewButton(t.AddFolder, theme.IconFolder, widget.Plain, s.pickFolder)
	head := widget.Inset(20, theme.XL, theme.M, theme.XL, widget.Column(theme.S,
		widget.RowGrow(theme.S, 0, widget.Title(t.Library), addFolder, addFile),
		widget.Inset(0, 0, theme.XS, 0, widget.Note(t.LibraryIntro)),
		widget.Box(s.search),
	))
	list := widget.ColumnGrow(0, 1, head, widget.Stack(s.feed, s.note))
	s.main = widget.RowFill(0, 0, list, s.details.object)
	s.unlisten = deps.Models.Subscribe(func() { s.do(s.reload) })
	s.unwatch = live.Watch(deps.Engine, s.do, func(st live.State) {
		if now := st.Running(); now != s.running {
			s.running = now
			s.show()
		}
	})
	s.show()
	return s
}

// Main is the screen's content.
func (s *Screen) Main() fyne.CanvasObject { return s.main }

// Shown reads the list anew: files come and go behind the window's back.
func (s *Screen) Shown() { s.reload() }

// Hidden implements the window's screen.
func (s *Screen) Hidden() {}

// Close ends what is being read.
func (s *Screen) Close() {
	s.unlisten()
	s.unwatch()
	s.models.Close()
	s.elsewhere.Close()
}

func (s *Screen) reload() {
	s.models.Load(s.deps.Models.List, func(all []Model, err error) {
		s.all, s.err, s.loaded = all, err, true
		s.show()
	})
	s.elsewhere.Load(s.deps.Models.Found, func(found []Found, err error) {
		if err == nil { // what other programs have is a convenience: without it the list is still right
			s.found = found
			s.show()
		}
	})
}

// show draws the list and the details.
func (s *Screen) show() {
	t := words.T()
	s.lines = s.lines[:0]
	match := func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(strings.TrimSpace(s.filter)))
	}
	for i := range s.all {
		if m := &s.all[i]; match(m.Name + " " + m.Architecture + " " + m.Quantization) {
			s.lines = append(s.lines, line{model: m})
		}
	}
	headed := false
	for i := range s.found {
		f := &s.found[i]
		if !match(f.Name + " " + f.From) {
			continue
		}
		if !headed {
			s.lines = append(s.lines, line{heading: t.FoundElsewhere, sub: t.FoundHint})
			headed = true
		}
		s.lines = append(s.lines, line{found: f})
	}
	if len(s.lines) > 0 && s.filter == "" {
		s.lines = append(s.lines, line{sub: t.DropHint})
	}
	top, sub := "", ""
	switch {
	case s.err != nil:
		top, sub = t.NotRead, s.err.Error()
	case !s.loaded:
		top = t.Scanning
	case len(s.lines) == 0 && s.filter != "":
		top = t.NothingFound
	case len(s.lines) == 0:
		top, sub = t.EmptyLibrary, t.EmptyHint
	}
	s.noteTop.Set(top)
	s.noteSub.SetText(sub)
	widget.SetVisible(s.note, top != "")
	s.feed.Refill(len(s.lines))
	s.details.show(s.chosen())
	s.main.Refresh()
}

func (s *Screen) chosen() *Model {
	for i := range s.all {
		if s.all[i].ID == s.selected {
			return &s.all[i]
		}
	}
	return nil
}

func (s *Screen) build(i int) widget.Item {
	switch ln := s.lines[i]; {
	case ln.model != nil:
		return newRow(s, *ln.model)
	case ln.found != nil:
		return newFoundRow(s, *ln.found)
	case ln.heading == "":
		return widget.AsItem(widget.Inset(theme.S, 0, 0, 0, widget.NewProse(
			widget.Style{Size: "helperText", Color: theme.Faint, Align: fyne.TextAlignCenter}, widget.Run{Text: ln.sub})))
	default:
		return widget.AsItem(widget.Inset(theme.L, 0, theme.XS, 0, widget.Column(2, widget.Strong(ln.heading), widget.Note(ln.sub))))
	}
}

func (s *Screen) selectModel(id string) {
	if s.selected == id {
		id = "" // again: closes the details
	}
	s.selected = id
	s.show()
}

// Add puts files and folders into the library.
func (s *Screen) Add(paths []string) {
	go func() {
		added, err := s.deps.Models.Add(context.Background(), paths)
		s.do(func() {
			if err != nil {
				s.deps.Notice(fmt.Sprintf(words.T().AddFailedF, err), "", nil)
			} else {
				s.deps.Notice(outcome(added), "", nil)
			}
			s.reload()
		})
	}()
}

// shownFailures is how many a notice has room for.
const shownFailures = 6

// outcome tells how many were added, and each that could not be.
func outcome(a Added) string {
	t := words.T()
	n, bad := len(a.Names), len(a.Failed)
	added := ""
	switch {
	case n == 1:
		added = fmt.Sprintf(t.AddedF, a.Names[0])
	case n > 1:
		added = fmt.Sprintf(t.AddedManyF, n)
	case bad == 0:
		return t.AddedNone
	case bad == 1:
		return fmt.Sprintf(t.AddFailedF, a.Failed[0])
	}
	switch {
	case bad == 0:
		return added
	case n == 0:
		added = fmt.Sprintf(t.NoneAddedF, bad)
	case bad == 1:
		added = fmt.Sprintf(t.OneNotAddedF, added)
	default:
		added = fmt.Sprintf(t.NotAddedF, added, bad)
	}
	lines := append([]string{added}, a.Failed[:min(bad, shownFailures)]...)
	if bad > shownFailures {
		lines = append(lines, fmt.Sprintf(t.MoreNotAddedF, bad-shownFailures))
	}
	return strings.Join(lines, "\n")
}

// remove takes a model out of the list at once and offers to bring it back.
func (s *Screen) remove(m Model) {
	for i := range s.all {
		if s.all[i].ID == m.ID {
			s.all = append(s.all[:i:i], s.all[i+1:]...)
			break
		}
	}
	s.selected, s.removed = "", time.Now()
	s.show()
	s.act(func(ctx context.Context) error { return s.deps.Models.Remove(ctx, m.ID) })
	s.deps.Notice(fmt.Sprintf(words.T().RemovedF, m.Name), words.T().Undo, func() {
		s.act(func(ctx context.Context) error { return s.deps.Models.Restore(ctx, m.ID) })
	})
}

func (s *Screen) act(do func(context.Context) error) {
	s.changes.Do(func() {
		err := do(context.Background())
		s.do(func() {
			if err != nil {
				s.deps.Notice(err.Error(), "", nil)
			}
			s.reload()
		})
	})
}

func (s *Screen) pickFile() {
	d := dialog.NewFileOpen(func(r fyne.URIReadCloser, err error) {
		if err != nil {
			s.deps.Notice(fmt.Sprintf(words.T().AddFailedF, err), "", nil)
			return
		}
		if r != nil {
			path := r.URI().Path()
			r.Close()
			s.Add([]string{path})
		}
	}, s.deps.Window)
	d.SetFilter(storage.NewExtensionFileFilter([]string{".gguf"}))
	d.Resize(fyne.NewSize(760, 520))
	d.Show()
}

func (s *Screen) pickFolder() {
	d := dialog.NewFolderOpen(func(u fyne.ListableURI, err error) {
		if err != nil {
			s.deps.Notice(fmt.Sprintf(words.T().AddFailedF, err), "", nil)
			return
		}
		if u != nil {
			s.Add([]string{u.Path()})
		}
	}, s.deps.Window)
	d.Resize(fyne.NewSize(760, 520))
	d.Show()
}
