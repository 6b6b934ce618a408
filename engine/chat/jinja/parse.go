package jinja

import (
	"fmt"
	"slices"
)

// From tokens to statements.

// maxNesting bounds how deep constructs nest in a template's text, and how long a chain of postfixes is.
const maxNesting = 200

// Indexes of the names that macros define.
const (
	nameCaller = iota
	nameVarargs
	nameKwargs
	nameLoop
)

// parser is a recursive descent over the tokens, after Jinja's grammar. Errors travel as panics of *SyntaxError.
type parser struct {
	tokens []token
	pos    int
	depth  int
	loops  int // enclosing loops that break and continue can reach
	names  map[string]int
	list   []string
	macros []*macroDef
}

func parse(tokens []token) (t *Template, err error) {
	p := &parser{tokens: tokens, names: map[string]int{}}
	for _, n := range []string{"caller", "varargs", "kwargs", "loop"} {
		p.name(n)
	}
	defer func() {
		if e := recover(); e != nil {
			syntax, ok := e.(*SyntaxError)
			if !ok {
				panic(e)
			}
			t, err = nil, syntax
		}
	}()
	body := p.body()
	return &Template{body, p.list}, nil
}

func (p *parser) fail(format string, args ...any) {
	panic(&SyntaxError{Line: p.cur().line, Message: fmt.Sprintf(format, args...)})
}

// name interns a variable's name.
func (p *parser) name(s string) int {
	i, ok := p.names[s]
	if !ok {
		i = len(p.list)
		p.names[s] = i
		p.list = append(p.list, s)
	}
	return i
}

func (p *parser) cur() *token { return &p.tokens[p.pos] }

func (p *parser) look() *token { return &p.tokens[min(p.pos+1, len(p.tokens)-1)] }

func (p *parser) next() *token {
	t := &p.tokens[p.pos]
	if t.kind != tEOF {
		p.pos++
	}
	return t
}

func (p *parser) atOp(op string) bool  { return p.cur().is(tOp, op) }
func (p *parser) atName(n string) bool { return p.cur().is(tName, n) }

func (p *parser) skipOp(op string) bool {
	if p.atOp(op) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) skipName(n string) bool {
	if p.atName(n) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) wantOp(op string) {
	if !p.skipOp(op) {
		p.fail("expected '%s', got %v", op, p.cur())
	}
}

func (p *parser) wantName() string {
	if p.cur().kind != tName {
		p.fail("expected a name, got %v", p.cur())
	}
	return p.next().val
}

func (p *parser) wantKind(k kind) {
	if p.cur().kind != k {
		p.fail("expected %v, got %v", token{kind: k}, p.cur())
	}
	p.pos++
}

// nest counts a level of nesting; the caller must take it back.
func (p *parser) nest() {
	p.depth++
	if p.depth > maxNesting {
		p.fail("nested deeper than %d", maxNesting)
	}
}

// body parses statements up to a tag with one of the end words, which is left current, or to the template's end.
func (p *parser) body(ends ...string) []stmt {
	p.nest()
	defer func() { p.depth-- }()
	var out []stmt
	for {
		t := p.cur()
		switch t.kind {
		case tData:
			p.pos++
			out = append(out, &textStmt{t.val})
		case tVarBegin:
			p.pos++
			out = append(out, &outputStmt{p.tuple(true), t.line})
			p.wantKind(tVarEnd)
		case tBlockBegin:
			p.pos++
			if word := p.cur(); word.kind == tName && slices.Contains(ends, word.val) {
				return out
			}
			out = p.statement(out)
			p.wantKind(tBlockEnd)
		case tEOF:
			if len(ends) > 0 {
				p.fail("the template ends before {%% %s %%}", ends[len(ends)-1])
			}
			return out
		default:
			p.fail("unexpected %v", t)
		}
	}
}

// block parses a tag's end, a body, and the end word.
func (p *parser) block(end string) []stmt {
	p.open()
	b := p.body(end)
	p.pos++
	return b
}

func (p *parser) open() {
	p.skipOp(":")
	p.wantKind(tBlockEnd)
}

func (p *parser) statement(out []stmt) []stmt {
	t := p.cur()
	if t.kind != tName {
		p.fail("expected a statement, got %v", t)
	}
	p.pos++
	switch t.val {
	case "if":
		return append(out, p.ifStatement())
	case "for":
		return append(out, p.forStatement(t.line))
	case "set":
		return append(out, p.setStatement(t.line))
	case "macro":
		name := p.wantName()
		def := p.signature(&macroDef{name: name})
		p.macroBody(def, "endmacro")
		return append(out, &macroStmt{p.name(name), def, t.line})
	case "call":
		def := &macroDef{}
		if p.atOp("(") {
			p.signature(def)
		}
		call, ok := p.expression().(*callExpr)
		if !ok {
			p.fail("expected a call")
		}
		p.macroBody(def, "endcall")
		return append(out, &callBlockStmt{call, def, t.line})
	case "filter":
		body := &bodyExpr{}
		x := p.filters(body, true)
		body.body = p.block("endfilter")
		return append(out, &outputStmt{x, t.line})
	case "with":
		w := &scopeStmt{}
		for !p.atOp(":") && p.cur().kind != tBlockEnd {
			if len(w.to) > 0 {
				p.wantOp(",")
			}
			w.to = append(w.to, p.target(false))
			p.wantOp("=")
			w.vals = append(w.vals, p.expression())
		}
		w.body = p.block("endwith")
		return append(out, w)
	case "generation":
		return append(out, &scopeStmt{body: p.block("endgeneration")})
	case "autoescape":
		p.fail("autoescape is not supported")
	case "print":
		for {
			out = append(out, &outputStmt{p.expression(), t.line})
			if !p.skipOp(",") {
				return out
			}
		}
	case "break", "continue":
		if p.loops == 0 {
			p.fail("'%s' outside a loop", t.val)
		}
		if t.val == "break" {
			return append(out, &loopControl{breaking})
		}
		return append(out, &loopControl{continuing})
	case "block", "extends", "include", "import", "from", "do", "trans":
		p.fail("'%s' is not supported in a chat template", t.val)
	}
	p.fail("unknown tag '%s'", t.val)
	return nil
}

func (p *parser) ifStatement() stmt {
	n := &ifStmt{}
	for {
		n.lines = append(n.lines, p.cur().line)
		n.tests = append(n.tests, p.tuple(false))
		p.open()
		n.bodies = append(n.bodies, p.body("elif", "else", "endif"))
		switch p.next().val {
		case "elif":
			continue
		case "else":
			n.bodies = append(n.bodies, p.block("endif"))
		}
		return n
	}
}

func (p *parser) forStatement(line int) stmt {
	n := &forStmt{line: line, to: p.targetUntil("in", false)}
	if n.to.binds(nameLoop) {
		p.fail("can't assign to the special variable 'loop' in a for tag")
	}
	if !p.skipName("in") {
		p.fail("expected 'in', got %v", p.cur())
	}
	n.in = p.tuple(false, "recursive")
	if p.skipName("if") {
		n.test = p.expression()
	}
	n.recursive = p.skipName("recursive")
	p.open()
	p.loops++
	n.body = p.body("else", "endfor")
	p.loops--
	if p.next().val == "else" {
		n.other = p.block("endfor")
	}
	return n
}

func (p *parser) setStatement(line int) stmt {
	to := p.targetUntil("", true)
	if p.skipOp("=") {
		return &setStmt{to, p.tuple(true), line}
	}
	body := &bodyExpr{}
	x := p.filters(body, false)
	body.body = p.block("endset")
	return &setStmt{to, x, line}
}

// signature parses a macro's parameters.
func (p *parser) signature(def *macroDef) *macroDef {
	p.wantOp("(")
	for !p.atOp(")") {
		if len(def.names) > 0 {
			p.wantOp(",")
		}
		name := p.wantName()
		def.names = append(def.names, name)
		def.params = append(def.params, p.name(name))
		if p.skipOp("=") {
			def.defaults = append(def.defaults, p.expression())
		} else if len(def.defaults) > 0 {
			p.fail("a parameter without a default follows one with a default")
		}
	}
	p.pos++
	return def
}

func (p *parser) macroBody(def *macroDef, end string) {
	loops := p.loops
	p.loops = 0
	p.macros = append(p.macros, def)
	def.body = p.block(end)
	p.macros = p.macros[:len(p.macros)-1]
	p.loops = loops
}

// mention marks the enclosing macros as users of a name that only macros define.
func (p *parser) mention(name int) {
	for _, m := range p.macros {
		switch name {
		case nameCaller:
			m.caller = true
		case nameVarargs:
			m.varargs = true
		case nameKwargs:
			m.kwargs = true
		}
	}
}

// targetUntil parses names separated by commas; a trailing comma before the end word or '=' makes a tuple of one.
func (p *parser) targetUntil(end string, namespaces bool) target {
	first := p.target(namespaces)
	if !p.atOp(",") {
		return first
	}
	t := target{tuple: true, items: []target{first}}
	for p.skipOp(",") {
		if p.cur().kind != tName && !p.atOp("(") || end != "" && p.atName(end) {
			break
		}
		t.items = append(t.items, p.target(namespaces))
	}
	return t
}

func (p *parser) target(namespaces bool) target {
	p.nest()
	defer func() { p.depth-- }()
	if p.skipOp("(") {
		t := p.targetUntil("", namespaces)
		p.wantOp(")")
		return t
	}
	name := p.wantName()
	switch name {
	case "true", "false", "True", "False", "none", "None":
		p.fail("can't assign to '%s'", name)
	}
	t := target{name: p.name(name)}
	if namespaces && p.skipOp(".") {
		t.attr = p.wantName()
	}
	return t
}

// binds tells whether a target sets a name.
func (t *target) binds(name int) bool {
	if !t.tuple {
		return t.name == name
	}
	return slices.ContainsFunc(t.items, func(t target) bool { return t.binds(name) })
}
