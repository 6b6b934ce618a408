package engine_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"ingot/engine"
	"ingot/engine/chat"
)

const sample = "../assets/sample/sample-Q8_0.gguf"

// A conversation: the whole of it is passed every time, and only what is new is read.
func ExampleEngine_Generate() {
	e, err := engine.Open(sample, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	messages := []chat.Message{{Role: "user", Content: "What day comes after Friday?"}}
	for event, err := range e.Generate(context.Background(), engine.Request{
		Prompt:    chat.Prompt{Messages: messages, Reasoning: chat.ReasoningOff},
		MaxTokens: 50,
	}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(event.Text)
		if event.Done != nil {
			fmt.Printf("\n%s\n", event.Done.Reason)
		}
	}
	// Output:
	// After Friday comes Saturday.
	// stop
}

// A decoding loop of one's own: tokens go in, scores come out, and the choice is the caller's.
func ExampleSession() {
	e, err := engine.Open(sample, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	s, err := e.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	prompt, err := e.Tokenize(context.Background(), "<|im_start|>user\nWhat is 7 + 5?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n", true)
	if err != nil {
		log.Fatal(err)
	}
	next := int32(0)
	best := func(scores []float32) {
		top := float32(math.Inf(-1))
		for id, x := range scores {
			if x > top {
				top, next = x, int32(id)
			}
		}
	}
	var answer []int32
	for tokens := prompt; ; tokens = []int32{next} {
		if err := s.Feed(tokens, best); err != nil {
			log.Fatal(err)
		}
		if e.Vocab().IsEOG(next) {
			break
		}
		answer = append(answer, next)
	}
	fmt.Println(e.Detokenize(answer))
	// Output: 7 + 5 = 12
}

// A hook on intermediate activations: how much each layer changes what it is given.
func ExampleOptions_hook() {
	layers := 0
	e, err := engine.Open(sample, engine.Options{
		Watch: func(layer int, name string) bool { return name == "l_out" },
		Hook: func(a engine.Activation) {
			if a.Positions[0] == 0 { // the batch that begins the prompt
				layers++
				fmt.Printf("layer %d: %d rows of %d\n", a.Layer, len(a.Rows), len(a.Rows[0]))
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	s, err := e.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Feed([]int32{10, 20, 30}, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(layers == e.Info().Layers)
	// Output:
	// layer 0: 3 rows of 256
	// layer 1: 3 rows of 256
	// layer 2: 3 rows of 256
	// layer 3: 3 rows of 256
	// true
}
