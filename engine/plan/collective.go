package plan

// Steps between the lanes of a stage. Every lane of the stage has the same ones in the same order, on the same rows and
// whole width, so the n-th of one lane meets the n-th of every other.
type (
	// AllReduce sums over the lanes: In[0] is the lane's own summand, Out[0] the sum of all, plus Add (which every lane
	// has) where it is set. Summands are added in the order of the lanes in f32, Add last, so all lanes get the same
	// bits. Out[0] may lie on Add or on In[0].
	AllReduce struct{}
	// AllGather joins columns: In[0] are the lane's own, Cols[lane] to Cols[lane+1]-1 of Out[0]'s row; a lane that has
	// none there has no In. Out[0] is the whole row, on every lane.
	AllGather struct{ Cols []int }
	// Zero writes zeros to Out[0]: the summand of a lane that has no share of what is summed.
	Zero struct{}
)

func (AllReduce) Name() string { return "allreduce" }
func (AllGather) Name() string { return "allgather" }
func (Zero) Name() string      { return "zero" }
