package plan

import (
	"fmt"
	"strings"
)

// String lists the steps, one a line: layer, operation, weights, where it reads and writes.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rows %d  outs %d  arena %d bytes\n", p.Options.Rows, p.Options.Outs, p.Arena)
	for _, s := range p.Steps {
		layer := "  -"
		if s.Layer >= 0 {
			layer = fmt.Sprintf("%3d", s.Layer)
		}
		fmt.Fprintf(&b, "%s  %-10s", layer, s.Op.Name())
		for _, l := range s.In {
			fmt.Fprintf(&b, " %v", l)
		}
		if s.Add != nil {
			fmt.Fprintf(&b, " +%v", *s.Add)
		}
		b.WriteString(" ->")
		for _, l := range s.Out {
			fmt.Fprintf(&b, " %v", l)
		}
		for _, w := range s.W {
			fmt.Fprintf(&b, "  %s%v", w.Name, w.Shape)
		}
		if s.Fine {
			b.WriteString("  fine")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// String is offset/columns, with the heads where there are several.
func (l Loc) String() string {
	if l.Heads > 1 {
		return fmt.Sprintf("%d/%dx%d", l.Off, l.Heads, l.Dim)
	}
	return fmt.Sprintf("%d/%d", l.Off, l.Dim)
}
