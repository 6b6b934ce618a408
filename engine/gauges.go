package engine

import (
	"fmt"

	"ingot/engine/device"
	"ingot/engine/device/gauge"
	"ingot/engine/plan"
)

// cardOf is a card as its driver describes it, with what the system's gauges say of it now.
func cardOf(i device.Info) Card {
	c := Card{Name: i.Name, Description: i.Description, Total: i.Total, Free: i.Free, Load: -1}
	if i.Bus == "" {
		return c
	}
	if r, ok := gauge.Read(i.Bus); ok {
		c.Load, c.Temperature = r.Load, r.Celsius
		if r.Total > 0 { // of all programs, which a driver may not tell
			c.Total, c.Free = r.Total, r.Total-r.Used
		}
	}
	return c
}

// place is where a lane is in the topology.
type place struct {
	stage  int // from 1
	layers string
}

// placesOf are the places of a topology's lanes, stage by stage, of a model with so many layers.
func placesOf(t *plan.Topology, layers int) (all []place) {
	for i := range t.Stages {
		for range t.Stages[i].Lanes {
			all = append(all, place{i + 1, layersText(t.Stages[i].First, t.Stages[i].Last, layers)})
		}
	}
	return all
}

// layersText is the layers of a stage; "" where it has none, but the embedding or the head.
func layersText(first, last, layers int) string {
	switch first, last = max(first, 0), min(last, layers-1); {
	case first == last:
		return fmt.Sprint(first)
	case first < last:
		return fmt.Sprintf("%d–%d", first, last)
	}
	return ""
}
