package gpu

import "fmt"

// MaxLanes is the most lanes of a stage.
const MaxLanes = 16

// Exchange mirrors struct exchange: the memory over which the lanes of a stage meet (args_lanes.h says how). Groups and Unit
// are those of NewExchange, the same for every collective of a stage; inboxes and flags are memory that every lane's
// card may write and that no cache of the owner's keeps old values of. Flags and the epoch are zero before the first run.
type Exchange struct {
	Inbox, Flags [MaxLanes]Ptr // of each lane, as this lane reaches it
	Epoch        Ptr           // this lane's, [Groups] uint32
	Lane, Lanes  int32
	Groups, Unit int32
}

// NewExchange returns an exchange of so many lanes, without its pointers, for one of them.
func NewExchange(lane, lanes int) Exchange {
	return Exchange{Lane: int32(lane), Lanes: int32(lanes), Groups: 32, Unit: 1024}
}

// Bytes returns what a lane's inbox, its flags and its epoch take.
func (x *Exchange) Bytes() (inbox, flags, epoch int64) {
	g, l := int64(x.Groups), int64(x.Lanes)
	return 4 * 4 * g * l * int64(x.Unit), 2 * 4 * g * l, 4 * g
}

// AllReduceArgs mirror all_reduce_args: Dst = the sum of the lanes' X, in lane order, plus Add where set. Times rows for
// each row of the batch.
type AllReduceArgs struct {
	Batch, X, Add, Dst          Ptr
	XStride, AddStride, DStride int64
	Cols, Rows, Times, _        int32
	Lanes                       Exchange
}

// Launch sums the rows. Every lane of the stage launches the same, of which twoShot sends less where
// there are many lanes or long messages, and meets twice.
func (a AllReduceArgs) Launch(_ Card, twoShot bool) (Launch, error) {
	entry := "all_reduce"
	if twoShot {
		entry = "all_reduce_two_shot"
	}
	return meet(entry, &a.Lanes, &a)
}

// AllGatherArgs mirror all_gather_args: Dst = the lanes' columns side by side, this lane's X being columns At[Lane] to At[Lane+1].
type AllGatherArgs struct {
	Batch, X, Dst    Ptr
	XStride, DStride int64
	Rows, Times      int32
	At               [MaxLanes + 2]int32
	Lanes            Exchange
}

// Launch gathers the rows.
func (a AllGatherArgs) Launch(_ Card) (Launch, error) { return meet("all_gather", &a.Lanes, &a) }

func meet[T any](entry string, x *Exchange, args *T) (Launch, error) {
	if x.Lanes < 2 || x.Lanes > MaxLanes || x.Lane < 0 || x.Lane >= x.Lanes || x.Unit < x.Lanes {
		return Launch{}, fmt.Errorf("%s of lane %d of %d, where %d are possible", entry, x.Lane, x.Lanes, MaxLanes)
	}
	l := launch(Module{File: "lanes.gpu"}, entry, int(x.Groups), 1, 1, args)
	return l, l.fits()
}
