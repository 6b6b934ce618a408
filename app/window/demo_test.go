package window

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"

	"ingot/app/window/cards"
	"ingot/app/window/chat"
	"ingot/app/window/library"
	"ingot/app/window/live"
	"ingot/app/window/server"
	"ingot/app/window/settings"
	"ingot/app/window/theme"
)

// The main goroutine runs the toolkit, so the demonstration takes it before any test does.
func TestMain(m *testing.M) {
	if os.Getenv("INGOT_WINDOW_DEMO") != "" {
		demo(os.Getenv("INGOT_WINDOW_DEMO"))
		return
	}
	os.Exit(m.Run())
}

// demo shows the real window over made-up data, to be looked at: INGOT_WINDOW_DEMO lists what is in it, such as
// "light,full" or "dark,empty".
func demo(what string) {
	has := func(w string) bool { return strings.Contains(","+what+",", ","+w+",") }
	f := newFake()
	f.pace = 30 * time.Millisecond
	f.thoughts = demoThoughts
	f.answer = demoAnswer
	if has("full") {
		f.fill()
	}
	if has("gpus") {
		f.gpus()
	}
	if has("nodes") {
		f.machine.Nodes = 4
	}
	if has("noroom") {
		f.plan.Ways[2].Fits, f.plan.Ways[2].Fullest, f.plan.Fitting = false, 35e9, 8192
		f.state.Phase, f.state.NoRoom, f.state.Stages = live.Failed, true, nil
		f.state.Problem = "hip:1 has 30012 MiB free and the cache of the model would take 3188 MiB too many."
	}
	if has("none") {
		f.models = nil
	}
	if has("long") {
		f.long(2000)
	}
	if has("dies") {
		f.dieAfter = 25
	}
	d := f.deps()
	d.Theme = theme.Light
	if has("dark") {
		d.Theme = theme.Dark
	}
	d.Place = Place{Width: 1280, Height: 800}
	if has("small") {
		d.Place = Place{Width: 900, Height: 600}
	}
	w := New(app.NewWithID("ingot.demo"), d)
	if has("answering") || has("dies") {
		go func() {
			time.Sleep(700 * time.Millisecond)
			fyne.Do(func() { w.chat.NewChat() })
		}()
	}
	w.Run()
}

const demoThoughts = "The user asks how a bicycle stays upright. Steering into the fall matters most; gyroscopic effects and trail help. " +
	"I should say that riderless bicycles can balance themselves, and mention the experiment with counter-rotating wheels."

const demoAnswer = "A moving bicycle stays up because it **steers into a fall**. When it leans to one side, the front wheel turns that way, " +
	"and the wheels roll back under the weight.\n\n## What helps\n\n1. **Trail**: the tyre touches the ground *behind* the steering axis, so the wheel follows like a castor.\n" +
	"2. **Mass in front**: the handlebar assembly falls faster than the frame.\n3. The gyroscopic effect, though it is not needed.\n\n" +
	"| Effect | Share | Needed |\n|:--|--:|:-:|\n| Steering | large | yes |\n| Trail | medium | no |\n| Gyroscope | small | no |\n\n" +
	"> A riderless bicycle pushed fast enough rights itself.\n\nThe lean angle `phi` for a turn of radius `r` at speed `v`:\n\n" +
	"```python\nimport math\n\n# lean of a bicycle in a steady turn\ndef lean(v: float, r: float, g: float = 9.81) -> float:\n    \"\"\"Angle from the vertical, in degrees.\"\"\"\n    return math.degrees(math.atan(v * v / (g * r)))\n\nprint(lean(6.0, 10))  # 20.2\n```\n\n" +
	"Read more in [the 2011 paper](https://doi.org/10.1126/science.1201959)."

func (f *fake) fill() {
	now := time.Now()
	for i, c := range []struct {
		title string
		age   time.Duration
	}{
		{"Explain how a bicycle stays upright", 20 * time.Minute}, {"Tax letter, second draft", 2 * time.Hour},
		{"Why does my build fail on gcc 12 with -march=native?", 26 * time.Hour}, {"Rezept für Zwetschgenkuchen", 3 * 24 * time.Hour},
		{"Names for a cat", 5 * 24 * time.Hour}, {"SQL: running totals per customer", 12 * 24 * time.Hour},
		{"三亚的天气怎么样", 20 * 24 * time.Hour}, {"Trip to the Dolomites", 90 * 24 * time.Hour},
	} {
		id := chat.ID(100 + i)
		f.chats = append(f.chats, chat.Thread{ID: id, Title: c.title, Messages: []chat.Message{
			{ID: id*10 + 1, User: true, Text: "Explain how a bicycle stays upright, and give me a formula for the lean angle in Python."},
			{ID: id*10 + 2, Text: demoAnswer, Reasoning: demoThoughts, Thought: 3200 * time.Millisecond, Model: "Qwen3.5 4B",
				Stats: chat.Stats{Completion: 312, Decode: 38.4, First: 820 * time.Millisecond}, Siblings: []chat.ID{1, 2}, Index: 1},
			{ID: id*10 + 3, User: true, Text: "Thanks!"},
			{ID: id*10 + 4, Text: "You're welcome. Ask me anything else about bicycles.", Model: "Qwen3.5 4B", Stats: chat.Stats{Completion: 14, Decode: 41.2}},
		}})
		f.updated[id] = now.Add(-c.age)
	}
	f.models = append(f.models,
		library.Model{ID: "q4", Name: "Qwen3.5 4B Instruct", Path: "/data/models/Qwen3.5-4B-Q4_K_M.gguf", Architecture: "qwen35", Quantization: "Q4_K_M", Bytes: 2_740_000_000,
			Parameters: 4_020_000_000, Context: 262144, Layers: 32, Embedding: 2560, Vocab: 248320, HasTemplate: true, CanThink: true, Fit: library.Fits,
			Reason: "Needs about 3.4 GB of the 19 GB that are free.", License: "apache-2.0"},
		library.Model{ID: "q35", Name: "Qwen3.5 35B A3B", Path: "/data/models/Qwen3.5-35B-A3B-Q4_K_M-00001-of-00002.gguf", Files: 2, Architecture: "qwen35moe", Quantization: "Q4_K_M",
			Bytes: 20_600_000_000, Parameters: 35_000_000_000, Context: 262144, HasTemplate: true, CanThink: true, Fit: library.Tight,
			Reason: "Needs about 20 GB; 19 GB are free now. Close other programs first."},
		library.Model{ID: "l70", Name: "Llama 3.3 70B Instruct", Path: "/data/models/Llama-3.3-70B-Q8_0.gguf", Architecture: "llama", Quantization: "Q8_0",
			Bytes: 74_900_000_000, Parameters: 70_600_000_000, Context: 131072, HasTemplate: true, Fit: library.TooBig,
			Reason: "Needs about 76 GB; this computer has 24 GB."},
		library.Model{ID: "gone", Name: "Mistral Small 24B", Path: "/mnt/usb/Mistral-Small-24B-Q5_K_M.gguf", Architecture: "llama", Quantization: "Q5_K_M",
			Bytes: 16_700_000_000, Parameters: 23_600_000_000, Missing: true},
	)
	f.server.Requests = []server.Request{
		{At: now.Add(-time.Minute), Method: "POST", Path: "/v1/chat/completions", Status: 200, Took: 8200 * time.Millisecond, Tokens: 312},
		{At: now.Add(-2 * time.Minute), Method: "GET", Path: "/v1/models", Status: 200, Took: 2 * time.Millisecond},
		{At: now.Add(-3 * time.Minute), Method: "POST", Path: "/v1/chat/completions", Status: 401, Took: time.Millisecond},
	}
	f.state.Phase, f.state.Model, f.state.Name, f.state.Context, f.state.ContextUsed = live.Ready, "q4", "Qwen3.5 4B", 4096, 1312
	f.state.Level, f.state.Threads = "avx512", 8
	f.state.Cards[0].Used, f.state.Cards[0].Free = 3e9, 17e9
	f.state.Cards[0].Parts = live.Parts{Weights: 2e9, Cache: 700e6, State: 90e6, Scratch: 180e6}
	f.state.Stages = [][]live.Lane{{{Card: "cpu", Layers: "0–31"}}}
	f.chosen = f.models[1].ID
}

func (f *fake) gpus() {
	f.state.Cards[0].Used, f.state.Cards[0].Parts = 0, live.Parts{}
	for i, name := range []string{"hip:0", "hip:1", "hip:2", "hip:3"} {
		f.state.Cards = append(f.state.Cards, live.Card{Name: name, Description: "AMD Instinct MI50 32 GB", Total: 32e9, Free: int64(14-i) * 1e9,
			Used: int64(17+i) * 1e9, Parts: live.Parts{Weights: int64(13+i) * 1e9, Cache: 3e9, State: 300e6, Scratch: 700e6}, Temperature: 58 + float64(i)*3, Load: 0.6})
		f.machine.Cards = append(f.machine.Cards, settings.Card{Name: name, Description: "AMD Instinct MI50 32 GB"})
	}
	f.state.Stages = [][]live.Lane{{{Card: "hip:0", Layers: "0–31"}, {Card: "hip:1"}}, {{Card: "hip:2", Layers: "32–63"}, {Card: "hip:3"}}}
	share := func(n int, layers ...string) (stages [][]cards.Share) {
		for _, l := range layers {
			var lanes []cards.Share
			for range n {
				lanes = append(lanes, cards.Share{Card: fmt.Sprint("hip:", len(stages)*n+len(lanes)), Layers: l, Bytes: 72e9 / int64(n*len(layers)), Memory: 32e9})
			}
			stages = append(stages, lanes)
		}
		return stages
	}
	const room = 32e9
	f.plan = cards.Plan{Name: "Qwen3.5 4B", Repack: true, Context: 32768, Ways: []cards.Way{
		{Split: "none", Stages: share(1, "0–63"), Decode: 19.5, Prefill: 300, Fullest: 72e9, Room: room},
		{Split: "layer", Stages: share(1, "0–15", "16–31", "32–47", "48–63"), Decode: 19.4, Prefill: 690, Fullest: 19e9, Room: room, Fits: true},
		{Split: "tensor", TPS: 2, Stages: share(2, "0–31", "32–63"), Decode: 31.5, Prefill: 790, OtherDecode: 31.5, OtherPrefill: 640, Fullest: 18e9, Room: room, Fits: true, InUse: true},
		{Split: "tensor", TPS: 4, Stages: share(4, "0–63"), Decode: 47.6, Prefill: 731, Fullest: 18e9, Room: room, Fits: true, Best: true},
	}}
}

// long adds a conversation of n messages.
func (f *fake) long(n int) {
	th := chat.Thread{ID: 99, Title: "A long conversation"}
	for i := range n {
		m := chat.Message{ID: chat.ID(10000 + i), User: i%2 == 0, Text: "A short question?"}
		if !m.User {
			m.Text = demoAnswer
		}
		th.Messages = append(th.Messages, m)
	}
	f.chats = append(f.chats, th)
	f.updated[99] = time.Now()
}
