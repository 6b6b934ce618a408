package jinja

// The nodes of a compiled template.

// expr is a node that has a value. Its eval ends the render on an error.
type expr interface {
	eval(r *run, s *scope) Value
}

// stmt is a node that writes or assigns.
type stmt interface {
	exec(r *run, s *scope) signal
}

// signal says how a body ended.
type signal uint8

const (
	proceed signal = iota
	breaking
	continuing
)

type (
	constExpr struct{ v Value }
	nameExpr  struct {
		name int
		line int
	}
	listExpr  struct{ items []expr }
	tupleExpr struct{ items []expr }
	dictExpr  struct {
		keys, vals []expr
		line       int
	}
	condExpr struct{ test, then, other expr } // other may be nil
	// andExpr and orExpr hold two operands or more.
	andExpr struct{ items []expr }
	orExpr  struct{ items []expr }
	notExpr struct{ x expr }
	// compareExpr is a chain: first op[0] rest[0] op[1] rest[1] ...
	compareExpr struct {
		first expr
		ops   []string
		rest  []expr
		line  int
	}
	// mathExpr is a run of operators of one precedence, applied left to right, so that a long sum is not a deep tree.
	mathExpr struct {
		first expr
		ops   []string
		rest  []expr
		line  int
	}
	concatExpr struct{ items []expr } // ~
	signExpr   struct {
		x    expr
		neg  bool
		line int
	}
	attrExpr struct {
		x    expr
		name string
		line int
	}
	itemExpr struct {
		x, key expr
		line   int
	}
	sliceExpr struct{ start, stop, step expr } // each may be nil; only as an item's key
	callExpr  struct {
		fn   expr
		args callArgs
		line int
	}
	filterExpr struct {
		x    expr // nil: the body of a filter or set block
		name string
		args callArgs
		line int
	}
	testExpr struct {
		x    expr
		name string
		args callArgs
		line int
	}
	// bodyExpr is the text that a filter chain on a block starts from.
	bodyExpr struct{ body []stmt }
)

// callArgs are a call's arguments as written.
type callArgs struct {
	pos          []expr
	kw           []kwExpr
	star, double expr // *args, **kwargs; may be nil
}

type kwExpr struct {
	name string
	x    expr
}

// target is what an assignment writes to: a name, an attribute of a namespace, or a tuple of targets.
type target struct {
	name  int
	attr  string // not "": attribute of the namespace in name
	items []target
	tuple bool
}

type (
	textStmt   struct{ text string }
	outputStmt struct {
		x    expr
		line int
	}
	setStmt struct {
		to   target
		x    expr
		line int
	}
	ifStmt struct {
		tests  []expr
		bodies [][]stmt // one more than tests where there is an else
		lines  []int
	}
	forStmt struct {
		to        target
		in        expr
		test      expr // may be nil
		body      []stmt
		other     []stmt
		recursive bool
		line      int
	}
	macroStmt struct {
		name int
		def  *macroDef
		line int
	}
	callBlockStmt struct {
		call *callExpr
		def  *macroDef
		line int
	}
	// scopeStmt is a with block: targets see the outer scope only.
	scopeStmt struct {
		to   []target
		vals []expr
		body []stmt
	}
	loopControl struct{ s signal }
)

// macroDef is a macro or the body of a call block.
type macroDef struct {
	name     string // "": a call block's body
	params   []int
	names    []string
	defaults []expr // of the last parameters
	body     []stmt

	caller, varargs, kwargs bool // the body mentions these names
}
