package widget

import (
	"strings"
	"unicode"

	"ingot/app/window/theme"
)

// Words that many languages share; enough to give code a shape without knowing each grammar.
var codeWords = wordSet(`and as async await break case catch char class const continue def default defer del do double
elif else enum except export extends extern false finally float fn for foreach from func function go goto if impl import in
int interface is lambda let long loop map match mod mut namespace new nil none not null or package pass private
protected pub public raise range return select self short signed static string struct super switch template this
throw throws trait true try type typedef typename union unsigned use using var virtual void volatile where while with yield
True False None`)

var sqlWords = wordSet(`select from where insert into values update set delete create table join left right inner outer on
group by order having limit offset as and or not null distinct union all primary key index drop alter`)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// highlight splits code into runs: comments, strings, numbers, keywords, and the rest.
func highlight(lang, text string) []Run {
	lang = strings.ToLower(lang)
	switch lang {
	case "", "text", "txt", "plain", "plaintext", "console", "output", "markdown", "md", "diff", "csv":
		return []Run{{Text: text, Mono: true}}
	}
	h := highlighter{text: text, words: codeWords, hash: strings.Contains(" python py ruby rb sh bash shell zsh yaml yml toml r make makefile perl dockerfile ", " "+lang+" ")}
	if lang == "sql" {
		h.words, h.fold, h.dash = sqlWords, true, true
	}
	if lang == "lua" || lang == "haskell" {
		h.dash = true
	}
	return h.runs()
}

type highlighter struct {
	text  string
	words map[string]bool
	hash  bool // # begins a comment
	dash  bool // -- begins a comment
	fold  bool // words in any case
	out   []Run
	plain int // start of text not yet given out
}

func (h *highlighter) runs() []Run {
	for i := 0; i < len(h.text); {
		n, run := h.token(i)
		if run.Color != "" {
			h.give(i)
			run.Text, run.Mono = h.text[i:i+n], true
			h.out = append(h.out, run)
			h.plain = i + n
		}
		i += n
	}
	h.give(len(h.text))
	return h.out
}

func (h *highlighter) give(to int) {
	if h.plain < to {
		h.out = append(h.out, Run{Text: h.text[h.plain:to], Mono: true})
	}
}

// token returns the length of what begins at i, and its look; no colour is plain.
func (h *highlighter) token(i int) (int, Run) {
	t := h.text[i:]
	switch c := t[0]; {
	case strings.HasPrefix(t, "//") && (i == 0 || h.text[i-1] != ':'), h.hash && c == '#', h.dash && strings.HasPrefix(t, "--"):
		return untilLine(t), Run{Color: theme.CodeNote}
	case strings.HasPrefix(t, "/*"):
		if n := strings.Index(t[2:], "*/"); n >= 0 {
			return n + 4, Run{Color: theme.CodeNote}
		}
		return len(t), Run{Color: theme.CodeNote}
	case strings.HasPrefix(t, `"""`), strings.HasPrefix(t, "'''"):
		if n := strings.Index(t[3:], t[:3]); n >= 0 {
			return n + 6, Run{Color: theme.CodeText}
		}
		return len(t), Run{Color: theme.CodeText}
	case c == '"', c == '\'', c == '`':
		return quoted(t), Run{Color: theme.CodeText}
	case c >= '0' && c <= '9':
		n := 1
		for n < len(t) && (isWord(t[n]) || t[n] == '.') {
			n++
		}
		return n, Run{Color: theme.CodeNumber}
	case isWord(c):
		n := 1
		for n < len(t) && isWord(t[n]) {
			n++
		}
		w := t[:n]
		if h.fold {
			w = strings.ToLower(w)
		}
		if h.words[w] {
			return n, Run{Color: theme.CodeWord}
		}
		return n, Run{}
	}
	return 1, Run{}
}

func untilLine(t string) int {
	if n := strings.IndexByte(t, '\n'); n >= 0 {
		return n
	}
	return len(t)
}

// quoted is the length of a string; one that does not end on its line is a lone quotation mark.
func quoted(t string) int {
	for n := 1; n < len(t); n++ {
		switch t[n] {
		case '\\':
			n++
		case t[0]:
			return n + 1
		case '\n':
			if t[0] != '`' {
				return 1
			}
		}
	}
	return 1
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || unicode.IsLetter(rune(c)) || (c >= '0' && c <= '9')
}
