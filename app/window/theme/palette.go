package theme

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// Colour names of our own, beside Fyne's.
const (
	Side       fyne.ThemeColorName = "ingotSide"       // sidebar and status strip
	Surface    fyne.ThemeColorName = "ingotSurface"    // bubbles, code, tracks
	Sheet      fyne.ThemeColorName = "ingotSheet"      // cards of forms and lists
	Raised     fyne.ThemeColorName = "ingotRaised"     // controls, menus: what lies on top
	Border     fyne.ThemeColorName = "ingotBorder"     // hairlines and outlines
	Text       fyne.ThemeColorName = "ingotText"       // what is read
	Muted      fyne.ThemeColorName = "ingotMuted"      // captions, labels
	Faint      fyne.ThemeColorName = "ingotFaint"      // decoration, never needed to understand
	Accent     fyne.ThemeColorName = "ingotAccent"     // the one colour that asks for attention
	OnAccent   fyne.ThemeColorName = "ingotOnAccent"   // text on it
	AccentSoft fyne.ThemeColorName = "ingotAccentSoft" // the accent as a background
	Good       fyne.ThemeColorName = "ingotGood"
	GoodSoft   fyne.ThemeColorName = "ingotGoodSoft"
	Warn       fyne.ThemeColorName = "ingotWarn"
	WarnSoft   fyne.ThemeColorName = "ingotWarnSoft"
	Bad        fyne.ThemeColorName = "ingotBad"
	BadSoft    fyne.ThemeColorName = "ingotBadSoft"
	Hover      fyne.ThemeColorName = "ingotHover"
	Pressed    fyne.ThemeColorName = "ingotPressed"
	Selected   fyne.ThemeColorName = "ingotSelected" // the chosen row of a list
	Mark       fyne.ThemeColorName = "ingotMark"     // selected text
	Clear      fyne.ThemeColorName = "ingotClear"
	CodeWord   fyne.ThemeColorName = "ingotCodeWord"
	CodeText   fyne.ThemeColorName = "ingotCodeText"
	CodeNote   fyne.ThemeColorName = "ingotCodeNote"
	CodeNumber fyne.ThemeColorName = "ingotCodeNumber"
)

// palette gives each name a colour; Fyne's own names are filled from ours so that its widgets agree with us.
type palette map[fyne.ThemeColorName]color.NRGBA

var light = complete(palette{
	theme.ColorNameBackground: hex(0xFFFFFFFF),
	theme.ColorNameShadow:     hex(0x3A2E2024),
	Side:                      hex(0xF7F6F4FF),
	Surface:                   hex(0xF5F4F1FF),
	Sheet:                     hex(0xFFFFFFFF),
	Raised:                    hex(0xFFFFFFFF),
	Border:                    hex(0xE4E1DCFF),
	Text:                      hex(0x201E1CFF),
	Muted:                     hex(0x6B6660FF),
	Faint:                     hex(0xA8A29AFF),
	Accent:                    hex(0xB0532AFF),
	OnAccent:                  hex(0xFFFFFFFF),
	AccentSoft:                hex(0xF8ECE4FF),
	Good:                      hex(0x2B7A4BFF),
	GoodSoft:                  hex(0xE5F3EAFF),
	Warn:                      hex(0x94600AFF),
	WarnSoft:                  hex(0xFBF0DAFF),
	Bad:                       hex(0xB0352BFF),
	BadSoft:                   hex(0xFBE9E6FF),
	Hover:                     hex(0x3A2E200F),
	Pressed:                   hex(0x3A2E2021),
	Selected:                  hex(0xEAE7E2FF),
	Mark:                      hex(0xB0532A38),
	Clear:                     hex(0xFFFFFF00),
	CodeWord:                  hex(0x8A3B8FFF),
	CodeText:                  hex(0x2B6E46FF),
	CodeNote:                  hex(0x847D75FF),
	CodeNumber:                hex(0x1F5FA8FF),
})

var dark = complete(palette{
	theme.ColorNameBackground: hex(0x1B1A19FF),
	theme.ColorNameShadow:     hex(0x00000070),
	Side:                      hex(0x151413FF),
	Surface:                   hex(0x272523FF),
	Sheet:                     hex(0x211F1EFF),
	Raised:                    hex(0x34302DFF),
	Border:                    hex(0x3A3633FF),
	Text:                      hex(0xECE9E5FF),
	Muted:                     hex(0xA59F97FF),
	Faint:                     hex(0x6F6963FF),
	Accent:                    hex(0xE08F5CFF),
	OnAccent:                  hex(0x20130AFF),
	AccentSoft:                hex(0x3A2A20FF),
	Good:                      hex(0x74C291FF),
	GoodSoft:                  hex(0x1F3327FF),
	Warn:                      hex(0xE2B45AFF),
	WarnSoft:                  hex(0x3A301CFF),
	Bad:                       hex(0xEE8375FF),
	BadSoft:                   hex(0x3D2522FF),
	Hover:                     hex(0xFFFFFF0F),
	Pressed:                   hex(0xFFFFFF1F),
	Selected:                  hex(0x312E2BFF),
	Mark:                      hex(0xE08F5C4D),
	Clear:                     hex(0x00000000),
	CodeWord:                  hex(0xD79BDDFF),
	CodeText:                  hex(0x9CCB9EFF),
	CodeNote:                  hex(0x8C857DFF),
	CodeNumber:                hex(0x8DB8EBFF),
})

// complete derives Fyne's colour names from ours.
func complete(p palette) palette {
	for name, from := range map[fyne.ThemeColorName]fyne.ThemeColorName{
		theme.ColorNameForeground:          Text,
		theme.ColorNamePrimary:             Accent,
		theme.ColorNameForegroundOnPrimary: OnAccent,
		theme.ColorNameHyperlink:           Accent,
		theme.ColorNameFocus:               AccentSoft,
		theme.ColorNameSelection:           Mark,
		theme.ColorNameButton:              Surface,
		theme.ColorNameDisabledButton:      Surface,
		theme.ColorNameDisabled:            Faint,
		theme.ColorNamePlaceHolder:         Faint,
		theme.ColorNameHover:               Hover,
		theme.ColorNamePressed:             Pressed,
		theme.ColorNameInputBackground:     Raised,
		theme.ColorNameInputBorder:         Border,
		theme.ColorNameMenuBackground:      Raised,
		theme.ColorNameOverlayBackground:   Sheet,
		theme.ColorNameHeaderBackground:    Side,
		theme.ColorNameScrollBar:           Faint,
		theme.ColorNameScrollBarBackground: Clear,
		theme.ColorNameSeparator:           Border,
		theme.ColorNameSuccess:             Good,
		theme.ColorNameWarning:             Warn,
		theme.ColorNameError:               Bad,
		theme.ColorNameForegroundOnSuccess: OnAccent,
		theme.ColorNameForegroundOnWarning: OnAccent,
		theme.ColorNameForegroundOnError:   OnAccent,
	} {
		p[name] = p[from]
	}
	return p
}

// hex reads 0xRRGGBBAA.
func hex(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 24), G: uint8(v >> 16), B: uint8(v >> 8), A: uint8(v)}
}
