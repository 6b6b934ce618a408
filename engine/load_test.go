package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"ingot/engine/chat"
	"ingot/engine/device"
)

// However the file gets into memory, its weights are the same: bit for bit the same logits, repacked or not, whole or in
// parts whose columns are copied.
func TestLoadModes(t *testing.T) {
	ask := ask(chat.ReasoningOff, 4, user("What is the capital of France?"))
	for name, o := range map[string]Options{"repacked": {}, "as stored": {NoRepack: true}, "2 lanes": {TPS: 2}, "2 stages": {Cards: []string{"2xcpu"}, Split: "layer"}} {
		var want [][]float32
		for _, mode := range []string{"mmap", "none", "dio", "mlock"} {
			t.Run(fmt.Sprintf("%s, %s", name, mode), func(t *testing.T) {
				o.Load = mode
				e, err := Open(sampleFile, o)
				if mode == "mlock" && (errors.Is(err, device.ErrMemory) || errors.Is(err, device.ErrUnsupported)) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				_, logits, _ := steps(t, e, ask)
				if want == nil {
					want = logits
				}
				for i := range want {
					if !slices.Equal(logits[i], want[i]) {
						t.Fatalf("step %d: other logits than with mmap", i)
					}
				}
			})
		}
	}
}
