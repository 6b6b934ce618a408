package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrCards is returned when a list of described cards cannot be read.
var ErrCards = errors.New("bad list of cards")

// Sheet is what a card's data sheet says: enough to predict it without having one.
type Sheet struct {
	Name      string  `json:"name"`
	Memory    float64 `json:"memory_gib"`
	Bandwidth float64 `json:"bandwidth_gbs"` // 1e9 bytes a second of its own memory
	F16       float64 `json:"f16_tflops"`    // 1e12 operations a second, a multiply-add being two; of matrix units where it has some
	I8        float64 `json:"int8_tops"`     // 0: it multiplies integers no faster than F16
	Link      float64 `json:"link_gbs"`      // 1e9 bytes a second each way to another card; 0: those of a PCIe 4 slot
	CPU       bool    `json:"cpu,omitempty"` // a processor: its tables are its own memory, nothing is launched
}

// Bytes is the card's memory.
func (s *Sheet) Bytes() int64 { return int64(s.Memory * (1 << 30)) }

const pcie = 31.5 // GB/s of a slot of 16 PCIe 4 lanes

func (s *Sheet) link() float64 {
	if s.Link > 0 {
		return s.Link * 1e9
	}
	return pcie * 1e9
}

// Sheets are the cards known by name, from their vendors' data sheets: dense rates without sparsity, sums kept in f32 where a sheet
// tells them apart. A name without a size is that of the first of its kind.
var Sheets = []Sheet{
	// AMD, GCN and CDNA
	{Name: "MI50", Memory: 32, Bandwidth: 1024, F16: 26.8, I8: 53.6},
	{Name: "MI50-16", Memory: 16, Bandwidth: 1024, F16: 26.8, I8: 53.6},
	{Name: "MI60", Memory: 32, Bandwidth: 1024, F16: 29.5, I8: 59},
	{Name: "RadeonVII", Memory: 16, Bandwidth: 1024, F16: 26.9, I8: 53.8},
	{Name: "MI100", Memory: 32, Bandwidth: 1229, F16: 184.6, I8: 184.6},
	{Name: "MI210", Memory: 64, Bandwidth: 1638, F16: 181, I8: 181},
	{Name: "MI250", Memory: 64, Bandwidth: 1638, F16: 181, I8: 181, Link: 100}, // one of the package's two
	{Name: "MI300X", Memory: 192, Bandwidth: 5300, F16: 1307, I8: 2615, Link: 64},
	// AMD, RDNA
	{Name: "W6800", Memory: 32, Bandwidth: 512, F16: 35.7, I8: 71.3},
	{Name: "RX6800XT", Memory: 16, Bandwidth: 512, F16: 41.5, I8: 82.9},
	{Name: "RX6900XT", Memory: 16, Bandwidth: 512, F16: 46.1, I8: 92.2},
	{Name: "7900XT", Memory: 20, Bandwidth: 800, F16: 103, I8: 103},
	{Name: "7900XTX", Memory: 24, Bandwidth: 960, F16: 122.8, I8: 122.8},
	{Name: "W7900", Memory: 48, Bandwidth: 864, F16: 122.6, I8: 122.6},
	// NVIDIA
	{Name: "P40", Memory: 24, Bandwidth: 347, F16: 11.8, I8: 47}, // F16: its F32, which is faster
	{Name: "T4", Memory: 16, Bandwidth: 320, F16: 65, I8: 130},
	{Name: "V100", Memory: 32, Bandwidth: 900, F16: 125, I8: 62.8},
	{Name: "V100-16", Memory: 16, Bandwidth: 900, F16: 125, I8: 62.8},
	{Name: "RTX3060", Memory: 12, Bandwidth: 360, F16: 25.5, I8: 102},
	{Name: "RTX3090", Memory: 24, Bandwidth: 936, F16: 71, I8: 284},
	{Name: "RTX4060Ti", Memory: 16, Bandwidth: 288, F16: 44, I8: 177},
	{Name: "RTX4090", Memory: 24, Bandwidth: 1008, F16: 165.2, I8: 660.6},
	{Name: "RTX5090", Memory: 32, Bandwidth: 1792, F16: 209.5, I8: 838},
	{Name: "A6000", Memory: 48, Bandwidth: 768, F16: 154.8, I8: 309.7},
	{Name: "L40S", Memory: 48, Bandwidth: 864, F16: 362, I8: 733},
	{Name: "A100", Memory: 80, Bandwidth: 2039, F16: 312, I8: 624, Link: 300},
	{Name: "A100-40", Memory: 40, Bandwidth: 1555, F16: 312, I8: 624, Link: 300},
	{Name: "H100", Memory: 80, Bandwidth: 3350, F16: 989, I8: 1979, Link: 450},
	{Name: "H200", Memory: 141, Bandwidth: 4800, F16: 989, I8: 1979, Link: 450},
}

// ReadSheets reads a JSON list of cards, for those that are not among Sheets.
func ReadSheets(b []byte) ([]Sheet, error) {
	var list []Sheet
	if err := json.Unmarshal(b, &list); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("%w: a list of objects is expected, each with a name and numbers; byte %d ends a JSON %s", ErrCards, wrong.Offset, wrong.Value)
		}
		return nil, fmt.Errorf("%w: %w", ErrCards, err)
	}
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list[:i], func(s Sheet) bool { return plainName(s.Name) == plainName(list[i].Name) }) {
			return nil, fmt.Errorf("%w: two cards are named %q", ErrCards, list[i].Name)
		}
	}
	return list, nil
}

func (s *Sheet) check() error {
	for _, v := range []struct {
		name       string
		value, low float64
	}{{"memory_gib", s.Memory, 1e-3}, {"bandwidth_gbs", s.Bandwidth, 1e-3}, {"f16_tflops", s.F16, 1e-6}, {"int8_tops", s.I8, 0}, {"link_gbs", s.Link, 0}} {
		if !(v.value >= v.low && v.value < 1e7) {
			return fmt.Errorf("%w: card %q: %s is %v or missing", ErrCards, s.Name, v.name, v.value)
		}
	}
	if s.Name == "" {
		return fmt.Errorf("%w: a card has no name", ErrCards)
	}
	return nil
}

// maxCards bounds a list: beyond it a description is a slip of the keyboard.
const maxCards = 64

// ParseCards reads a list such as "8xMI50", "2xMI50,cpu" or "RTX4090,RTX3090": names of more or of Sheets, in any case, with or
// without "RTX" and "-". more come first.
func ParseCards(list string, more []Sheet) ([]Sheet, error) {
	known := append(slices.Clone(more), Sheets...)
	find := func(name string) int {
		return slices.IndexFunc(known, func(s Sheet) bool { return plainName(s.Name) == plainName(name) })
	}
	var cards []Sheet
	for _, item := range strings.Split(list, ",") {
		item = strings.TrimSpace(item)
		n, name := 1, item
		// A name may begin with a number and an x: 7900XTX.
		if count, rest, ok := strings.Cut(strings.ToLower(item), "x"); ok && find(item) < 0 {
			if c, err := strconv.Atoi(count); err == nil {
				n, name = c, item[len(item)-len(rest):]
			}
		}
		i := find(name)
		switch {
		case name == "":
			return nil, fmt.Errorf("%w: %q has no card in it", ErrCards, list)
		case i < 0:
			return nil, fmt.Errorf("%w: %q is not known; known are %s, and others can be described in a file", ErrCards, name, sheetNames(known))
		case n < 1 || n+len(cards) > maxCards:
			return nil, fmt.Errorf("%w: %d of %s, expected 1 to %d in all", ErrCards, n, name, maxCards)
		}
		for range n {
			cards = append(cards, known[i])
		}
	}
	return cards, nil
}

func plainName(name string) string {
	name = strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))
	for _, prefix := range []string{"nvidia", "amd", "radeon", "instinct", "geforce", "rtx", "rx"} {
		if rest := strings.TrimPrefix(name, prefix); rest != "" {
			name = rest
		}
	}
	return name
}

func sheetNames(list []Sheet) string {
	var names []string
	for _, s := range list {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, " ")
}

// Card is a card of that sheet, for planning: quantized activations in blocks of 32 bytes with a scale and a sum.
func (s *Sheet) Card(name string) Card {
	return Card{Name: name, Speed: s.Bandwidth, QuantRow: func(cols int) int64 { return int64((cols+31)/32) * 40 }, Table: s.CPU, Gated: !s.CPU}
}
