package device

// Work is what the program's products cost.
func (l *cpuLane) Work(rows, outs int) (bytes, macs int64) { return l.program.Work(rows, outs) }

// Profile returns the program's timings and starts them anew.
func (l *cpuLane) Profile() []Timing {
	var list []Timing
	for _, t := range l.program.Timings() {
		row := Timing{Op: t.Op.String(), Level: t.Level.String(), Calls: t.Calls, Bytes: t.Bytes, MACs: t.MACs, Time: t.Time}
		if t.HasType() {
			row.Type = t.Type.String()
		}
		list = append(list, row)
	}
	if list != nil {
		l.program.Profile(true)
	}
	return list
}
