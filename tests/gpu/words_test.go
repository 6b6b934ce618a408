package gpu

import (
	"strings"
	"testing"

	"ingot/engine/device/driver"
)

// rowsArgs are the arguments of the kernels below.
type rowsArgs struct {
	x, y driver.Ptr
	n    int32
	_    int32
}

const rowsHead = "#include \"dialect.h\"\nstruct rows_args { const float *x; float *y; int n; };\n"

func dialect(text string) driver.Source {
	return driver.Source{Name: "words.gpu", Text: rowsHead + text, Headers: map[string]string{"dialect.h": ""}}
}

// A sum over a block through shuffles, LDS and a barrier.
func TestWordsOfTheDialect(t *testing.T) {
	const source = `KERNEL(sums, rows_args) {
	SHARED(float, part, THREADS / WAVE);
	float v = 0;
	for (int i = thread(); i < a.n; i += THREADS)
		v += a.x[group_x() * a.n + i];
	for (int m = WAVE / 2; m; m /= 2)
		v += shuffle_xor(v, m);
	if (lane_id() == 0)
		part[wave_id()] = v;
	barrier();
	if (thread() == 0) {
		v = 0;
		for (int i = 0; i < THREADS / WAVE; i++)
			v += part[i];
		a.y[group_x()] = v;
	}
}`
	onEach(t, func(t *testing.T, c *card) {
		f := c.compile(dialect(source), "sums", "THREADS=256")
		const rows, n = 5, 1000
		x := make([]float32, rows*n)
		want := make([]float32, rows)
		for i := range x {
			x[i] = float32(i%17) - 4
			want[i/n] += x[i]
		}
		y := c.room(rows * 4)
		launch(c, f, [3]int{rows, 1, 1}, 256, &rowsArgs{x: put(c, x), y: y, n: n})
		near(t, "sums", get[float32](c, y, rows), want, 1e-6)
	})
}

// What a kernel does wrong is found and said.
func TestFaultsOfKernelsAreFound(t *testing.T) {
	for name, k := range map[string]struct{ body, want string }{
		"a missing barrier":  {`SHARED(float, s, THREADS); s[thread()] = thread(); a.y[thread()] = s[thread() ^ 1];`, "without a barrier"},
		"two blocks":         {`if (thread() == 0) a.y[0] = group_x();`, "two blocks write one cell"},
		"another's result":   {`if (thread() == 0) { if (group_x() == 0) a.y[0] = 1; else a.y[1] = a.y[0]; }`, "reads what another block writes"},
		"out of bounds":      {`a.y[4096 + thread()] = 1;`, "out of bounds"},
		"a shuffle of half":  {`if (thread() < 7) a.y[thread()] = shuffle(1.0f, 0); else barrier();`, "hangs"},
		"waiting for nobody": {`while (load_acquire((u32 *)a.x) == 0) spin();`, "waits for ever"},
	} {
		t.Run(name, func(t *testing.T) {
			c := openConfigured(t, "check=1 patience=0.2 arch=gfx906")
			f := c.compile(dialect("KERNEL(fault, rows_args) { "+k.body+" }"), "fault", "THREADS=64")
			x, y := put(c, make([]float32, 64)), c.room(4096*4)
			launch(c, f, [3]int{2, 1, 1}, 64, &rowsArgs{x: x, y: y, n: 1})
			err := c.Sync(c.stream)
			if err == nil || !strings.Contains(c.why(), k.want) {
				t.Errorf("%v: %q, expected %q", err, c.why(), k.want)
			}
		})
	}
}

// Blocks that pass something on in order are no race.
func TestOrderBetweenBlocks(t *testing.T) {
	const source = `KERNEL(last, rows_args) {
	SHARED(u32, turn, 1);
	u32 *done = (u32 *)a.y;
	if (thread() == 0) {
		a.y[1 + group_x()] = a.x[group_x()];
		fence();
		turn[0] = atomic_add_u32(done, 1);
	}
	barrier();
	if (turn[0] == groups_x() - 1u && thread() == 0) {
		float v = 0;
		for (int i = 0; i < groups_x(); i++)
			v += a.y[1 + i];
		a.y[100] = v;
	}
}`
	c := open(t, "gfx906")
	f := c.compile(dialect(source), "last", "THREADS=64")
	y := put(c, make([]float32, 128))
	launch(c, f, [3]int{10, 1, 1}, 64, &rowsArgs{x: put(c, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), y: y})
	if got := get[float32](c, y, 101)[100]; got != 55 {
		t.Errorf("the last block sums %v, expected 55", got)
	}
}
