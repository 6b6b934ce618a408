package gpu

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
	"unsafe"

	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
)

// lane is one card of a stage, with what its collectives work on.
type lane struct {
	*loaded
	number  int
	lanes   gpu.Exchange
	on      gpu.Ptr // the batch
	x, add  gpu.Ptr
	dst     gpu.Ptr
	from, b []float32 // x, add
}

const mostFloats = 40 * 2100

// stage makes so many lanes on emulated cards, or all on the one real card there is.
func stage(t *testing.T, arch string, n int) []*lane {
	t.Helper()
	first := openConfigured(t, fmt.Sprintf("check=1 cards=%d arch=%s", n, arch))
	for i := range n {
		if os.Getenv("INGOT_TEST_CARD") == "" {
			must(t, first.Use(i)) // before others reach it
		}
	}
	stage := make([]*lane, n)
	exchanges := make([]gpu.Exchange, n)
	for i := range stage {
		l := &lane{loaded: newLoaded(first), number: i}
		if os.Getenv("INGOT_TEST_CARD") != "" {
			l.number = first.number
		}
		stage[i] = l
		must(t, l.Use(l.number))
		if i > 0 {
			own := *first
			own.number = l.number
			stream, err := l.NewStream()
			must(t, err)
			own.stream = stream
			l.loaded = newLoaded(&own)
		}
		for peer := range n {
			if os.Getenv("INGOT_TEST_CARD") == "" && peer != i {
				must(t, l.Reach(peer))
			}
		}
		exchanges[i] = gpu.NewExchange(i, n)
		inbox, flags, epoch := exchanges[i].Bytes()
		for at, size := range map[*gpu.Ptr]int64{&exchanges[i].Inbox[i]: inbox, &exchanges[i].Flags[i]: flags, &exchanges[i].Epoch: epoch} {
			p, err := l.MallocShared(size)
			must(t, err)
			must(t, l.Clear(p, size, l.stream))
			*at = gpu.Ptr(p)
			t.Cleanup(func() { l.Free(p) })
		}
		must(t, l.Sync(l.stream))
		l.x, l.add, l.dst = l.alloc(t, 4*mostFloats), l.alloc(t, 4*mostFloats), l.alloc(t, 4*mostFloats)
	}
	for i, l := range stage {
		l.lanes = exchanges[i]
		for j := range stage {
			l.lanes.Inbox[j], l.lanes.Flags[j] = exchanges[j].Inbox[j], exchanges[j].Flags[j]
		}
	}
	return stage
}

// each puts something on every lane's stream, then waits for all of them.
func each(t *testing.T, stage []*lane, launch func(l *lane) (gpu.Launch, error)) {
	t.Helper()
	for _, l := range stage {
		must(t, l.Use(l.number))
		k, err := launch(l)
		must(t, err)
		must(t, l.Launch(l.function(t, k), k.Grid, k.Module.Threads(), l.stream, unsafe.Pointer(&k.Args[0])))
	}
	for _, l := range stage {
		if err := l.SyncWithin(l.stream, time.Minute, nil); err != nil {
			t.Fatalf("lane %d: %v %s", l.lanes.Lane, err, l.why())
		}
	}
}

// fill gives every lane a batch of so many rows and values of its own.
func fill(t *testing.T, stage []*lane, rng *rand.Rand, rows, floats int) {
	t.Helper()
	b := cpu.NewBatch(rows, 1)
	defer b.Free()
	b.Resize(rows, 0, 1)
	b.Seqs()[0] = cpu.Seq{Rows: int32(rows)}
	var add []float32
	for _, l := range stage {
		must(t, l.Use(l.number))
		l.on = l.putBatch(t, b)
		l.from = make([]float32, floats)
		for i := range l.from {
			l.from[i] = float32(rng.NormFloat64())
		}
		if add == nil { // the same on every lane
			add = make([]float32, floats)
			for i := range add {
				add[i] = float32(rng.NormFloat64())
			}
		}
		l.b = add
		l.upload(t, l.x, bytesOf(l.from))
		l.upload(t, l.add, bytesOf(add))
	}
}

// Sums of several sizes, one after the other over the same memory: each exactly what adding in lane order gives.
func TestAllReduce(t *testing.T) {
	for n, on := range map[int][]string{2: archs, 3: archs[:1], 8: archs[:1]} {
		for i, arch := range on {
			t.Run(fmt.Sprintf("%d lanes of %s", n, arch), func(t *testing.T) {
				lanes := stage(t, arch, n)
				rng := rand.New(rand.NewPCG(uint64(n), uint64(i)))
				for round, c := range []struct{ rows, cols int }{{1, 7}, {3, 700}, {20, 2000}, {2, 1025}} {
					if n == 8 && c.rows == 20 {
						continue // emulating it takes long
					}
					stride := c.cols + round
					fill(t, lanes, rng, c.rows, c.rows*stride)
					for _, twoShot := range []bool{false, true} {
						withAdd := round%2 == 0
						each(t, lanes, func(l *lane) (gpu.Launch, error) {
							a := gpu.AllReduceArgs{Batch: l.on, X: l.x, Dst: l.dst, XStride: int64(stride), DStride: int64(stride), AddStride: int64(stride),
								Cols: int32(c.cols), Times: 1, Lanes: l.lanes}
							if withAdd {
								a.Add = l.add
							}
							return a.Launch(l.info, twoShot)
						})
						for _, l := range lanes {
							must(t, l.Use(l.number))
							got := make([]float32, c.rows*stride)
							l.download(t, l.dst, bytesOf(got))
							for r := range c.rows {
								for k := r * stride; k < r*stride+c.cols; k++ {
									want := lanes[0].from[k]
									for _, other := range lanes[1:] {
										want += other.from[k]
									}
									if withAdd {
										want += l.b[k]
									}
									if got[k] != want {
										t.Fatalf("lane %d of %d, two-shot %v, %d x %d: value %d is %v, expected %v", l.lanes.Lane, n, twoShot, c.rows, c.cols, k, got[k], want)
									}
								}
							}
						}
					}
				}
			})
		}
	}
}

func TestAllGather(t *testing.T) {
	for _, n := range []int{2, 5} {
		t.Run(fmt.Sprintf("%d lanes", n), func(t *testing.T) {
			lanes := stage(t, archs[0], n)
			rng := rand.New(rand.NewPCG(uint64(n), 5))
			for _, c := range []struct{ rows, cols int }{{1, 40}, {3, 1000}, {20, 4000}} {
				var at [gpu.MaxLanes + 2]int32
				for i := range n {
					at[i+1] = at[i] + int32(rng.IntN(c.cols/n+1)) // some may have none
				}
				at[n] = max(at[n], 1)
				wide := int(at[n])
				fill(t, lanes, rng, c.rows, c.rows*wide)
				each(t, lanes, func(l *lane) (gpu.Launch, error) {
					return gpu.AllGatherArgs{Batch: l.on, X: l.x, Dst: l.dst, XStride: int64(wide), DStride: int64(wide), Times: 1, At: at, Lanes: l.lanes}.Launch(l.info)
				})
				for _, l := range lanes {
					must(t, l.Use(l.number))
					got := make([]float32, c.rows*wide)
					l.download(t, l.dst, bytesOf(got))
					for r := range c.rows {
						for i, from := range lanes {
							for k := at[i]; k < at[i+1]; k++ {
								if v, want := got[r*wide+int(k)], from.from[r*wide+int(k-at[i])]; v != want {
									t.Fatalf("lane %d, row %d, column %d of lane %d is %v, expected %v", l.lanes.Lane, r, k, i, v, want)
								}
							}
						}
					}
				}
			}
		})
	}
}
