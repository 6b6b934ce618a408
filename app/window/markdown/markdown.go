// Package markdown reads an answer's Markdown into blocks that the window sets with its own widgets.
// It is pure: text in, plain values out; parsing never fails, unknown syntax stays as it was written.
package markdown

// Kind says what a block is.
type Kind int

const (
	Paragraph Kind = iota
	Heading        // Level 1..6
	Code           // Lang, Text
	Quote          // Blocks
	List           // Items, Ordered, Start
	Table          // Rows (the first is the header), Align
	Rule
)

// Block is a piece of a document.
type Block struct {
	Kind    Kind
	Spans   []Span // Paragraph, Heading
	Level   int
	Lang    string
	Text    string // of a code block, without the last newline
	Blocks  []Block
	Ordered bool
	Start   int
	Tight   bool // items of a list without space between
	Items   []Item
	Align   []Align
	Rows    [][][]Span // row, column
}

// Item is one entry of a list.
type Item struct {
	Blocks []Block
	Task   bool // begins with a check box
	Done   bool
}

// Align is how a table's column is set.
type Align int

const (
	Left Align = iota
	Center
	Right
)

// Span is a stretch of text in one style; "\n" in Text is a hard break.
type Span struct {
	Text                       string
	Bold, Italic, Code, Strike bool
	Link                       string
}
