package jinja

import "slices"

// From tokens to expressions, one function a level of precedence.

// expression parses a conditional expression, the loosest of all.
func (p *parser) expression() expr {
	p.nest()
	defer func() { p.depth-- }()
	x := p.or()
	for n := 0; p.skipName("if"); n++ {
		if n >= maxNesting {
			p.fail("nested deeper than %d", maxNesting)
		}
		c := &condExpr{test: p.or(), then: x}
		if p.skipName("else") {
			c.other = p.expression()
		}
		x = c
	}
	return x
}

func (p *parser) or() expr {
	x := p.and()
	if !p.atName("or") {
		return x
	}
	items := []expr{x}
	for p.skipName("or") {
		items = append(items, p.and())
	}
	return &orExpr{items}
}

func (p *parser) and() expr {
	x := p.not()
	if !p.atName("and") {
		return x
	}
	items := []expr{x}
	for p.skipName("and") {
		items = append(items, p.not())
	}
	return &andExpr{items}
}

func (p *parser) not() expr {
	n := 0
	for p.skipName("not") {
		n++
	}
	x := p.compare()
	if n > 0 {
		x = &notExpr{x}
		if n%2 == 0 {
			x = &notExpr{x}
		}
	}
	return x
}

func (p *parser) compare() expr {
	line := p.cur().line
	x := p.sum()
	var ops []string
	var rest []expr
	for {
		op := ""
		switch t := p.cur(); {
		case t.kind == tOp:
			switch t.val {
			case "==", "!=", "<", "<=", ">", ">=":
				op = t.val
				p.pos++
			}
		case t.is(tName, "in"):
			op = "in"
			p.pos++
		case t.is(tName, "not") && p.look().is(tName, "in"):
			op = "not in"
			p.pos += 2
		}
		if op == "" {
			break
		}
		ops = append(ops, op)
		rest = append(rest, p.sum())
	}
	if ops == nil {
		return x
	}
	return &compareExpr{x, ops, rest, line}
}

// math parses operands joined by any of the operators, left to right.
func (p *parser) math(operand func() expr, operators ...string) expr {
	line := p.cur().line
	x := operand()
	var ops []string
	var rest []expr
	for p.cur().kind == tOp && slices.Contains(operators, p.cur().val) {
		ops = append(ops, p.next().val)
		rest = append(rest, operand())
	}
	if ops == nil {
		return x
	}
	return &mathExpr{x, ops, rest, line}
}

func (p *parser) sum() expr     { return p.math(p.concat, "+", "-") }
func (p *parser) product() expr { return p.math(p.power, "*", "/", "//", "%") }
func (p *parser) power() expr   { return p.math(p.unary, "**") }

func (p *parser) concat() expr {
	x := p.product()
	if !p.atOp("~") {
		return x
	}
	items := []expr{x}
	for p.skipOp("~") {
		items = append(items, p.product())
	}
	return &concatExpr{items}
}

func (p *parser) unary() expr { return p.filtersAndTests(p.signed()) }

// signed parses signs and a primary with its postfixes; a filter binds looser than a sign.
func (p *parser) signed() expr {
	line := p.cur().line
	if p.atOp("-") || p.atOp("+") {
		p.nest()
		defer func() { p.depth-- }()
		neg := p.next().val == "-"
		return p.postfix(&signExpr{p.signed(), neg, line})
	}
	return p.postfix(p.primary())
}

func (p *parser) primary() expr {
	t := p.cur()
	switch t.kind {
	case tName:
		p.pos++
		switch t.val {
		case "true", "True":
			return &constExpr{true}
		case "false", "False":
			return &constExpr{false}
		case "none", "None":
			return &constExpr{nil}
		}
		name := p.name(t.val)
		p.mention(name)
		return &nameExpr{name, t.line}
	case tString:
		p.pos++
		s := t.val
		if p.cur().kind == tString {
			parts := []byte(s)
			for p.cur().kind == tString {
				parts = append(parts, p.next().val...)
			}
			s = string(parts)
		}
		return &constExpr{s}
	case tInt, tFloat:
		p.pos++
		return &constExpr{t.num}
	case tOp:
		switch t.val {
		case "(":
			p.pos++
			if p.skipOp(")") {
				return &tupleExpr{}
			}
			x := p.tuple(true)
			p.wantOp(")")
			return x
		case "[":
			p.pos++
			n := &listExpr{}
			for !p.atOp("]") {
				n.items = append(n.items, p.expression())
				if !p.skipOp(",") {
					break
				}
			}
			p.wantOp("]")
			return n
		case "{":
			p.pos++
			n := &dictExpr{line: t.line}
			for !p.atOp("}") {
				n.keys = append(n.keys, p.expression())
				p.wantOp(":")
				n.vals = append(n.vals, p.expression())
				if !p.skipOp(",") {
					break
				}
			}
			p.wantOp("}")
			return n
		}
	}
	p.fail("unexpected %v", t)
	return nil
}

// tuple parses one expression, or several separated by commas. cond allows inline ifs; ends are names that end it.
func (p *parser) tuple(cond bool, ends ...string) expr {
	operand := p.or
	if cond {
		operand = p.expression
	}
	x := operand()
	if !p.atOp(",") {
		return x
	}
	t := &tupleExpr{[]expr{x}}
	for p.skipOp(",") {
		if c := p.cur(); c.kind == tVarEnd || c.kind == tBlockEnd || p.atOp(")") || c.kind == tName && slices.Contains(ends, c.val) {
			break
		}
		t.items = append(t.items, operand())
	}
	return t
}

// chain counts links of a postfix chain, each of which makes the tree one deeper.
func (p *parser) chain(n int) {
	if p.depth+n > maxNesting {
		p.fail("nested deeper than %d", maxNesting)
	}
}

func (p *parser) postfix(x expr) expr {
	for n := 0; p.cur().kind == tOp; n++ {
		p.chain(n)
		line := p.cur().line
		switch p.cur().val {
		case ".":
			p.pos++
			switch t := p.next(); t.kind {
			case tName:
				x = &attrExpr{x, t.val, line}
			case tInt:
				x = &itemExpr{x, &constExpr{t.num}, line}
			default:
				p.fail("expected a name or number after '.'")
			}
		case "[":
			p.pos++
			key := p.subscript()
			if p.atOp(",") {
				t := &tupleExpr{[]expr{key}}
				for p.skipOp(",") {
					t.items = append(t.items, p.subscript())
				}
				key = t
			}
			p.wantOp("]")
			x = &itemExpr{x, key, line}
		case "(":
			x = &callExpr{x, p.args(), line}
		default:
			return x
		}
	}
	return x
}

func (p *parser) subscript() expr {
	var parts [3]expr
	n := 0
	for ; n < 3; n++ {
		if !p.atOp(":") && !p.atOp("]") && !p.atOp(",") {
			parts[n] = p.expression()
		}
		if n == 2 || !p.skipOp(":") {
			break
		}
	}
	if n == 0 {
		if parts[0] == nil {
			p.fail("expected an expression, got %v", p.cur())
		}
		return parts[0]
	}
	return &sliceExpr{parts[0], parts[1], parts[2]}
}

func (p *parser) filtersAndTests(x expr) expr {
	for n := 0; ; n++ {
		p.chain(n)
		switch t := p.cur(); {
		case t.is(tOp, "|"):
			p.pos++
			x = p.filter(x)
		case t.is(tName, "is"):
			x = p.test(x)
		case t.is(tOp, "("):
			x = &callExpr{x, p.args(), t.line}
		default:
			return x
		}
	}
}

// filters parses the filters of a block; bare: the first comes without '|'.
func (p *parser) filters(x expr, bare bool) expr {
	for n := 0; bare || p.skipOp("|"); n++ {
		p.chain(n)
		x = p.filter(x)
		bare = false
	}
	return x
}

func (p *parser) filter(x expr) expr {
	line := p.cur().line
	n := &filterExpr{x: x, name: p.dotted(), line: line}
	if p.atOp("(") {
		n.args = p.args()
	}
	return n
}

func (p *parser) dotted() string {
	name := p.wantName()
	for p.skipOp(".") {
		name += "." + p.wantName()
	}
	return name
}

func (p *parser) test(x expr) expr {
	line := p.next().line
	negated := p.skipName("not")
	n := &testExpr{x: x, name: p.dotted(), line: line}
	switch t := p.cur(); {
	case t.is(tOp, "("):
		n.args = p.args()
	case t.is(tName, "is"):
		p.fail("tests can't be chained with 'is'")
	case t.kind == tName && t.val != "else" && t.val != "or" && t.val != "and",
		t.kind == tString, t.kind == tInt, t.kind == tFloat, t.is(tOp, "["), t.is(tOp, "{"):
		n.args.pos = []expr{p.postfix(p.primary())}
	}
	if negated {
		return &notExpr{n}
	}
	return n
}

// args parses a call's arguments, from '(' to ')'.
func (p *parser) args() callArgs {
	var a callArgs
	seen := map[string]bool{}
	p.wantOp("(")
	for !p.atOp(")") {
		switch {
		case p.skipOp("*"):
			if a.star != nil || a.double != nil {
				p.fail("invalid arguments")
			}
			a.star = p.expression()
		case p.skipOp("**"):
			if a.double != nil {
				p.fail("invalid arguments")
			}
			a.double = p.expression()
		case p.cur().kind == tName && p.look().is(tOp, "="):
			if a.double != nil {
				p.fail("invalid arguments")
			}
			name := p.next().val
			p.pos++
			if seen[name] {
				p.fail("the keyword '%s' is repeated", name)
			}
			seen[name] = true
			a.kw = append(a.kw, kwExpr{name, p.expression()})
		default:
			if a.star != nil || a.double != nil || a.kw != nil {
				p.fail("a positional argument follows a keyword argument")
			}
			a.pos = append(a.pos, p.expression())
		}
		if !p.skipOp(",") {
			break
		}
	}
	p.wantOp(")")
	return a
}
