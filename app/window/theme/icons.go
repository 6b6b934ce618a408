package theme

import (
	"fmt"
	"strings"

	"fyne.io/fyne/v2"
)

// Icon is a line icon on a 24 x 24 grid, drawn with a stroke of 1.8. Its value is the SVG body, where
// currentColor stands for the colour it is drawn in.
type Icon struct{ name, body string }

func line(name string, paths ...string) Icon {
	var b strings.Builder
	for _, d := range paths {
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/>`, d)
	}
	return Icon{name, b.String()}
}

func solid(name, d string) Icon {
	return Icon{name, `<path d="` + d + `" fill="currentColor"/>`}
}

// The icons of the window.
var (
	IconIngot    = Icon{"ingot", `<path d="M7.6 7h8.8L21 18H3z" fill="currentColor"/><path d="M9 10h6" fill="none" stroke="knock" stroke-width="1.6" stroke-linecap="round"/>`}
	IconChat     = line("chat", "M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1 -2 2h-7l-5 4v-4h-2a2 2 0 0 1 -2 -2v-8a2 2 0 0 1 2 -2z")
	IconLibrary  = line("library", "M4 5h4v15h-4z", "M8 5h4v15h-4z", "M13.5 6.2l3.8 -1.2l4 14l-3.8 1.2z")
	IconCards    = line("cards", "M7 7h10v10h-10z", "M10 3v4", "M14 3v4", "M10 17v4", "M14 17v4", "M3 10h4", "M3 14h4", "M17 10h4", "M17 14h4")
	IconServer   = line("server", "M4 4h16v7h-16z", "M4 13h16v7h-16z", "M8 7.5h0.1", "M8 16.5h0.1", "M12 7.5h4", "M12 16.5h4")
	IconSettings = line("settings", "M4 7h8", "M18 7h2", "M4 17h2", "M12 17h8", "M15 4.5a2.5 2.5 0 1 1 0 5a2.5 2.5 0 1 1 0 -5z", "M9 14.5a2.5 2.5 0 1 1 0 5a2.5 2.5 0 1 1 0 -5z")
	IconPlus     = line("plus", "M12 5v14", "M5 12h14")
	IconSend     = line("send", "M12 19v-13", "M6 11.5l6 -6l6 6")
	IconStop     = solid("stop", "M8.5 7h7a1.5 1.5 0 0 1 1.5 1.5v7a1.5 1.5 0 0 1 -1.5 1.5h-7a1.5 1.5 0 0 1 -1.5 -1.5v-7a1.5 1.5 0 0 1 1.5 -1.5z")
	IconCopy     = line("copy", "M9 9h11v11h-11z", "M5 15h-1v-11h11v1")
	IconCheck    = line("check", "M5 12.5l4.5 4.5l9.5 -10")
	IconRefresh  = line("refresh", "M20 11a8 8 0 1 0 -2.3 6.6", "M20 5v6h-6")
	IconPencil   = line("pencil", "M4 20l1 -4l11 -11l3 3l-11 11z", "M13.5 7.5l3 3")
	IconTrash    = line("trash", "M4 7h16", "M9 7v-3h6v3", "M6 7l1 13h10l1 -13", "M10 11v5", "M14 11v5")
	IconMore     = solid("more", "M5 10.3a1.7 1.7 0 1 1 0 3.4a1.7 1.7 0 1 1 0 -3.4z M12 10.3a1.7 1.7 0 1 1 0 3.4a1.7 1.7 0 1 1 0 -3.4z M19 10.3a1.7 1.7 0 1 1 0 3.4a1.7 1.7 0 1 1 0 -3.4z")
	IconRight    = line("right", "M9.5 6l6 6l-6 6")
	IconLeft     = line("left", "M14.5 6l-6 6l6 6")
	IconDown     = line("down", "M6 9.5l6 6l6 -6")
	IconToBottom = line("bottom", "M12 5v13", "M6.5 12.5l5.5 5.5l5.5 -5.5")
	IconFile     = line("file", "M6 3h8l5 5v13h-13z", "M14 3v5h5")
	IconFolder   = line("folder", "M3 6h6l2 2.5h10v11.5h-18z")
	IconWarning  = line("warning", "M12 4l9.5 16.5h-19z", "M12 10v5", "M12 17.8h0.1")
	IconClose    = line("close", "M6 6l12 12", "M18 6l-12 12")
	IconSearch   = line("search", "M10.5 4a6.5 6.5 0 1 1 0 13a6.5 6.5 0 1 1 0 -13z", "M15.5 15.5l5 5")
	IconThought  = line("thought", "M12 3l1.8 5.2l5.2 1.8l-5.2 1.8l-1.8 5.2l-1.8 -5.2l-5.2 -1.8l5.2 -1.8z", "M18.5 16l0.8 2.2l2.2 0.8l-2.2 0.8l-0.8 2.2l-0.8 -2.2l-2.2 -0.8l2.2 -0.8z")
	IconKey      = line("key", "M8 11a4 4 0 1 1 0 8a4 4 0 1 1 0 -8z", "M11 12.2l8.5 -8.5", "M16 7.2l3 3")
	IconPower    = line("power", "M12 3v8", "M7 6.5a7.5 7.5 0 1 0 10 0")
)

// In returns the icon as a resource drawn in a colour of the theme.
func (i Icon) In(name fyne.ThemeColorName) fyne.Resource { return &drawn{i, name} }

// drawn is an icon in a colour; it is looked up when drawn, so it follows the theme.
type drawn struct {
	icon  Icon
	color fyne.ThemeColorName
}

// Name carries the colour: Fyne caches rasters by name.
func (d *drawn) Name() string {
	return d.icon.name + "-" + strings.TrimPrefix(css(d.color), "#") + ".svg"
}

func (d *drawn) Content() []byte {
	body := strings.ReplaceAll(d.icon.body, "currentColor", css(d.color))
	body = strings.ReplaceAll(body, "knock", css(Raised))
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">` + body + `</svg>`)
}

func css(name fyne.ThemeColorName) string {
	r, g, b, a := Color(name).RGBA()
	if a == 0 {
		return "none"
	}
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
