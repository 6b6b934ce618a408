package layers

// A rule says what the packages of some folders may not import. Patterns are import paths without the leading
// "ingot/", and end in /... for a whole tree; "..." is everything. Other modules are written in full.
type rule struct {
	in     []string
	except []string // folders of in that are free of it
	deny   []string
	allow  []string // of what deny names
	tests  bool     // test files too
	why    string
}

var everything = []string{"..."}

var rules = []rule{
	// The arrows of the design.
	{
		in: []string{"engine/..."}, deny: []string{"app/...", "storage/...", "assets/...", "tests/..."}, tests: true,
		why: "the engine is a library: it knows nothing of the application that uses it",
	},
	{
		in: []string{"kernels/..."}, deny: []string{"..."}, allow: []string{"kernels/..."}, tests: true,
		why: "kernels are the bottom: they know pointers, shapes and types of their own",
	},
	{
		in: []string{"storage/..."}, deny: []string{"..."}, allow: []string{"storage/..."}, tests: true,
		why: "records are plain data: who uses them depends on storage, never the other way",
	},
	{
		in: []string{"assets/..."}, deny: []string{"..."}, tests: true,
		why: "assets are bytes",
	},
	{
		in: []string{"app/..."}, deny: []string{"engine/...", "kernels/..."},
		allow: []string{"engine", "engine/chat", "engine/sample"},
		why:   "the application sees the engine's facade and the value types in its signatures, not how it works",
	},
	{
		in: everything, except: []string{"app/wire", "tests/..."}, deny: []string{"app/cli", "assets"},
		why: "only the composition root knows every part",
	},
	{
		in: everything, except: []string{".", "tests/..."}, deny: []string{"app/wire"}, tests: true,
		why: "the composition root is above everything but main",
	},
	{
		in: []string{"."}, deny: []string{"..."}, allow: []string{"app/wire"},
		why: "main hands over at once",
	},

	// Inside the application.
	{
		in: []string{"app/..."}, except: []string{"app/window/...", "app/wire"}, deny: []string{"app/window/..."},
		why: "use cases do not know who shows them",
	},
	{
		in: []string{"app/window/..."}, deny: []string{"app/...", "engine/...", "storage/...", "net/http/..."},
		allow: []string{"app/window/..."}, tests: true,
		why: "a screen declares the small interface it needs and the composition root fills it: a window is tested with nothing behind it",
	},
	{
		in:   []string{"app/window/chat", "app/window/library", "app/window/cards", "app/window/server", "app/window/settings"},
		deny: []string{"app/window/chat", "app/window/library", "app/window/cards", "app/window/server", "app/window/settings", "app/window"},
		why:  "screens do not know each other; the shell joins them",
	},
	{
		in: []string{"app/openai"}, deny: []string{"net/http/...", "..."}, allow: []string{"engine", "engine/chat", "engine/sample"},
		why: "wire types and pure conversions: nothing to start, nothing to wait for",
	},
	{
		in: []string{"app/chats", "app/library", "app/prefs", "app/feed"}, deny: []string{"net/http/...", "app/...", "engine/..."},
		allow: []string{"app/feed"},
		why:   "use cases stand on storage alone",
	},
	{
		in: []string{"app/client"}, deny: []string{"app/server/...", "storage/..."},
		why: "a client reaches a server only over HTTP: a remote engine is used like a local one",
	},
	{
		in: []string{"app/server/..."}, deny: []string{"app/client", "storage/..."},
		why: "the engine process has no database: what it forgets costs nothing",
	},

	// Inside the engine.
	{
		in: []string{"engine/arch"}, deny: []string{"..."}, allow: []string{"engine/graph"},
		why: "an architecture is written in semantic operations and names no device, no type and no kernel",
	},
	{
		in: []string{"engine/graph"}, deny: []string{"..."},
		why: "the words that architectures and the planner share depend on neither",
	},
	{
		in: []string{"engine/plan"}, deny: []string{"..."}, allow: []string{"engine/graph", "engine/tensor"},
		why: "planning is a pure function of model, cards and options: it touches no card",
	},
	{
		// The facade asks for the machine's cores and levels, before any card is opened. Quantizing turns files into
		// files and needs no card.
		in: []string{"engine/..."}, except: []string{"engine", "engine/device/...", "engine/quant"}, deny: []string{"kernels/..."},
		why: "kernels are reached through a card's programs",
	},
	{
		in: []string{"engine/token/...", "engine/chat/...", "engine/sample/...", "engine/gguf/...", "engine/tensor/..."}, deny: []string{"..."},
		allow: []string{"engine/token/...", "engine/chat/...", "engine/sample/...", "engine/gguf/...", "engine/tensor/..."},
		why:   "text, numbers and files are understood without a running model",
	},
	{
		in: []string{"engine/chat/jinja"}, deny: []string{"..."}, tests: true,
		why: "an interpreter of untrusted templates reaches nothing",
	},

	// Who may use what from outside.
	{
		in: everything, except: []string{"storage/..."}, deny: []string{"go.etcd.io/bbolt/..."}, tests: true,
		why: "one package knows the schema",
	},
	{
		in: everything, except: []string{"app/window/...", "app/wire"}, deny: []string{"fyne.io/..."}, tests: true,
		why: "the same program is built without a window",
	},
	{
		in: everything, except: []string{"engine/device/..."}, deny: []string{"github.com/ebitengine/purego/..."}, tests: true,
		why: "drivers are loaded in one place, where a missing one is an error value",
	},
	{
		// The composition root has one C constructor: what it does must be done before Go's packages are initialized.
		in: everything, except: []string{"kernels/...", "app/wire"}, deny: []string{"C"}, tests: true,
		why: "C is for kernels; it is compiled in one place and called in one place",
	},
	{
		in: everything, except: []string{"tests/..."}, deny: []string{"github.com/openai/...", "github.com/rogpeppe/go-internal/..."},
		why: "modules that only tests need do not go into the binary",
	},
	{
		in: everything, except: []string{"tests/..."}, deny: []string{"tests/..."}, tests: true,
		why: "tests are above everything",
	},
}

// The greatest number of lines of a Go file, and of C and GPU sources; and the files that have more, each with the reason.
const longest = 600

var longer = map[string]string{}

// Words that say nothing about what is inside.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"}
