package markdown

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	xast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// md parses GitHub's dialect; it renders nothing. It keeps no state between calls.
var md = goldmark.New(goldmark.WithExtensions(
	extension.Table, extension.Strikethrough, extension.Linkify, extension.TaskList,
)).Parser()

// maxDepth bounds how deep quotes and lists may nest; deeper ones are shown as their text.
const maxDepth = 8

// Parse reads a document.
func Parse(source string) []Block {
	src := []byte(source)
	root := md.Parse(text.NewReader(src), parser.WithContext(parser.NewContext()))
	r := reader{src: src}
	return r.blocks(root, 0)
}

type reader struct{ src []byte }

func (r *reader) blocks(parent ast.Node, depth int) []Block {
	var out []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if b, ok := r.block(n, depth); ok {
			out = append(out, b)
		}
	}
	return out
}

func (r *reader) block(n ast.Node, depth int) (Block, bool) {
	if depth > maxDepth {
		return Block{Kind: Paragraph, Spans: []Span{{Text: r.lines(n)}}}, true
	}
	switch v := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		return Block{Kind: Paragraph, Spans: r.spans(n)}, true
	case *ast.Heading:
		return Block{Kind: Heading, Level: v.Level, Spans: r.spans(n)}, true
	case *ast.FencedCodeBlock:
		return Block{Kind: Code, Lang: string(v.Language(r.src)), Text: r.lines(n)}, true
	case *ast.CodeBlock:
		return Block{Kind: Code, Text: r.lines(n)}, true
	case *ast.HTMLBlock:
		t := r.lines(n)
		if v.HasClosure() {
			t += "\n" + strings.TrimRight(string(v.ClosureLine.Value(r.src)), "\n")
		}
		return Block{Kind: Paragraph, Spans: []Span{{Text: t}}}, true
	case *ast.ThematicBreak:
		return Block{Kind: Rule}, true
	case *ast.Blockquote:
		return Block{Kind: Quote, Blocks: r.blocks(n, depth+1)}, true
	case *ast.List:
		return r.list(v, depth), true
	case *xast.Table:
		return r.table(v), true
	}
	return Block{}, false
}

// lines is a block's source, without the last newline.
func (r *reader) lines(n ast.Node) string {
	if n.Type() == ast.TypeInline || n.Lines() == nil {
		return ""
	}
	var b strings.Builder
	for _, s := range n.Lines().Sliced(0, n.Lines().Len()) {
		b.Write(s.Value(r.src))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *reader) list(l *ast.List, depth int) Block {
	b := Block{Kind: List, Ordered: l.IsOrdered(), Start: l.Start, Tight: l.IsTight}
	for n := l.FirstChild(); n != nil; n = n.NextSibling() {
		it := Item{Blocks: r.blocks(n, depth+1)}
		if first := n.FirstChild(); first != nil {
			if box, ok := first.FirstChild().(*xast.TaskCheckBox); ok {
				it.Task, it.Done = true, box.IsChecked
			}
		}
		b.Items = append(b.Items, it)
	}
	return b
}

func (r *reader) table(t *xast.Table) Block {
	b := Block{Kind: Table}
	for _, a := range t.Alignments {
		switch a {
		case xast.AlignCenter:
			b.Align = append(b.Align, Center)
		case xast.AlignRight:
			b.Align = append(b.Align, Right)
		default:
			b.Align = append(b.Align, Left)
		}
	}
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([][]Span, 0, len(b.Align))
		for c := row.FirstChild(); c != nil && len(cells) < len(b.Align); c = c.NextSibling() {
			cells = append(cells, r.spans(c))
		}
		for len(cells) < len(b.Align) {
			cells = append(cells, nil)
		}
		b.Rows = append(b.Rows, cells)
	}
	return b
}

func (r *reader) spans(n ast.Node) []Span {
	var out []Span
	r.inline(n, Span{}, &out, 0)
	if k := len(out); k > 0 { // a hard break at the end says nothing
		out[k-1].Text = strings.TrimRight(out[k-1].Text, "\n ")
	}
	return out
}

// inline walks inline nodes; style is what encloses them.
func (r *reader) inline(parent ast.Node, style Span, out *[]Span, depth int) {
	if depth > 4*maxDepth {
		return
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		s := style
		switch v := n.(type) {
		case *ast.Text:
			s.Text = string(v.Segment.Value(r.src))
			switch {
			case v.HardLineBreak():
				s.Text += "\n"
			case v.SoftLineBreak():
				s.Text += softBreak(s.Text)
			}
			add(out, s)
		case *ast.String:
			s.Text = string(v.Value)
			add(out, s)
		case *ast.CodeSpan:
			s.Code = true
			s.Text = strings.ReplaceAll(r.plain(n), "\n", " ")
			add(out, s)
		case *ast.Emphasis:
			if v.Level >= 2 {
				s.Bold = true
			} else {
				s.Italic = true
			}
			r.inline(n, s, out, depth+1)
		case *xast.Strikethrough:
			s.Strike = true
			r.inline(n, s, out, depth+1)
		case *ast.Link:
			s.Link = string(v.Destination)
			r.inline(n, s, out, depth+1)
		case *ast.Image: // shown as a link: pictures are not loaded from the network
			s.Link = string(v.Destination)
			if s.Text = r.plain(n); s.Text == "" {
				s.Text = s.Link
			}
			add(out, s)
		case *ast.AutoLink:
			s.Text, s.Link = string(v.Label(r.src)), string(v.URL(r.src))
			if v.AutoLinkType == ast.AutoLinkEmail {
				s.Link = "mailto:" + s.Link
			}
			add(out, s)
		case *ast.RawHTML:
			for _, seg := range v.Segments.Sliced(0, v.Segments.Len()) {
				s.Text += string(seg.Value(r.src))
			}
			if t := strings.ToLower(strings.ReplaceAll(s.Text, " ", "")); t == "<br>" || t == "<br/>" {
				s.Text = "\n"
			}
			add(out, s)
		}
	}
}

// softBreak is a space, or nothing between characters that are written without spaces.
func softBreak(before string) string {
	for _, r := range before[max(len(before)-3, 0):] {
		if r >= 0x2E80 && r != 0xFFFD {
			return ""
		}
	}
	return " "
}

// plain is the text under an inline node.
func (r *reader) plain(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch v := c.(type) {
		case *ast.Text:
			b.Write(v.Segment.Value(r.src))
			if v.SoftLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(v.Value)
		default:
			b.WriteString(r.plain(c))
		}
	}
	return b.String()
}

// add appends a span, joined to the last where they look the same.
func add(out *[]Span, s Span) {
	if s.Text == "" {
		return
	}
	if k := len(*out); k > 0 {
		last := &(*out)[k-1]
		text := last.Text
		last.Text = ""
		same := s
		same.Text = ""
		if *last == same {
			last.Text = text + s.Text
			return
		}
		last.Text = text
	}
	*out = append(*out, s)
}
