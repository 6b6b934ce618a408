// Package theme is how Ingot looks: two palettes, one set of sizes, and line icons.
// Fyne's widgets and ours read the same names, so a change here changes the whole window.
package theme

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// Mode says which palette is used.
type Mode string

const (
	System Mode = "system" // as the desktop asks
	Light  Mode = "light"
	Dark   Mode = "dark"
)

// Text sizes of our own, beside Fyne's text (14), heading, sub-heading and caption.
const (
	SizeSmall fyne.ThemeSizeName = "ingotSmall" // the status strip, badges
	SizeTitle fyne.ThemeSizeName = "ingotTitle" // a screen's title
	SizeHero  fyne.ThemeSizeName = "ingotHero"  // the greeting of an empty conversation
	SizeAside fyne.ThemeSizeName = "ingotAside" // thoughts
	SizeCode  fyne.ThemeSizeName = "ingotCode"  // monospaced text is wide: slightly smaller
)

// Spacing: every gap in the window is one of these.
const (
	XS float32 = 4
	S  float32 = 8
	M  float32 = 12
	L  float32 = 16
	XL float32 = 24
)

// Radius rounds panels; small controls use less.
const (
	Radius      float32 = 10
	RadiusSmall float32 = 6
)

// Theme is a fyne.Theme with our palettes and sizes; fonts are Fyne's own.
type Theme struct{ Mode Mode }

var _ fyne.Theme = (*Theme)(nil)

// Color looks a name up in the palette of the mode, or of the variant that the desktop asks for.
func (t *Theme) Color(name fyne.ThemeColorName, variant fyne.ThemeVariant) color.Color {
	p := dark
	if t.Mode == Light || (t.Mode != Dark && variant == theme.VariantLight) {
		p = light
	}
	if c, ok := p[name]; ok {
		return c
	}
	return theme.DefaultTheme().Color(name, variant)
}

// Font returns Fyne's bundled faces: they cover Latin, Greek and Cyrillic, and fall back to the system's.
func (t *Theme) Font(style fyne.TextStyle) fyne.Resource { return theme.DefaultTheme().Font(style) }

// Icon returns Fyne's icons for its own widgets; ours stand in icons.go.
func (t *Theme) Icon(name fyne.ThemeIconName) fyne.Resource { return theme.DefaultTheme().Icon(name) }

// Size gives text sizes and paddings.
func (t *Theme) Size(name fyne.ThemeSizeName) float32 {
	switch name {
	case theme.SizeNameText:
		return 14
	case theme.SizeNameCaptionText, SizeSmall:
		return 12
	case SizeAside:
		return 13
	case SizeCode:
		return 13.5 // up to 13 the toolkit rounds a row's height below what the face's g and ( need
	case theme.SizeNameSubHeadingText:
		return 16
	case theme.SizeNameHeadingText, SizeTitle:
		return 20
	case SizeHero:
		return 26
	case theme.SizeNamePadding:
		return 4
	case theme.SizeNameInnerPadding:
		return 8
	case theme.SizeNameInlineIcon:
		return 18
	case theme.SizeNameScrollBar:
		return 10
	case theme.SizeNameScrollBarSmall:
		return 4
	case theme.SizeNameScrollBarRadius:
		return 4
	case theme.SizeNameInputRadius, theme.SizeNameSelectionRadius:
		return RadiusSmall
	case theme.SizeNameInputBorder:
		return 1
	}
	return theme.DefaultTheme().Size(name)
}

// Color looks up a colour of the running application's theme.
func Color(name fyne.ThemeColorName) color.Color {
	s := fyne.CurrentApp().Settings()
	return s.Theme().Color(name, s.ThemeVariant())
}

// Size looks up a size of the running application's theme.
func Size(name fyne.ThemeSizeName) float32 { return fyne.CurrentApp().Settings().Theme().Size(name) }
