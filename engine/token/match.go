package token

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// maxMatch is the longest text, in bytes, that a matcher looks for; longer tokens are only reached by merges. It
// bounds the work at one position of a text. Published special tokens stay below 64.
const maxMatch = 512

// matcher finds tokens in text: at the leftmost place where any of them stands, the longest one. It is a sorted
// list, narrowed byte by byte.
type matcher struct {
	texts []string // sorted, no duplicates
	ids   []int32
	first [257]int32 // texts that begin with byte b are texts[first[b]:first[b+1]]
}

// newMatcher builds a matcher of the tokens ids of a vocabulary. Empty and overlong texts are left out.
func newMatcher(vocab []string, ids []int32) *matcher {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int32) bool {
		return vocab[id] == "" || len(vocab[id]) > maxMatch
	})
	// The last of equal texts is kept, as a map of texts to ids would.
	slices.SortFunc(ids, func(a, b int32) int {
		return cmp.Or(strings.Compare(vocab[a], vocab[b]), cmp.Compare(b, a))
	})
	ids = slices.CompactFunc(ids, func(a, b int32) bool { return vocab[a] == vocab[b] })
	m := &matcher{ids: ids, texts: make([]string, len(ids))}
	for i, id := range ids {
		m.texts[i] = vocab[id]
		m.first[int(m.texts[i][0])+1]++
	}
	for b := range 256 {
		m.first[b+1] += m.first[b]
	}
	return m
}

// find returns where in s the first token stands, its length and id; length 0 and position len(s) when there is
// none.
func (m *matcher) find(s string) (at, n int, id int32) {
	if len(m.texts) == 0 {
		return len(s), 0, none
	}
	for at = 0; at < len(s); at++ {
		if b := s[at]; m.first[b] == m.first[int(b)+1] {
			continue
		}
		if n, id = m.longest(s[at:]); n > 0 {
			return at, n, id
		}
	}
	return len(s), 0, none
}

// longest returns the length and id of the longest token that s begins with; length 0 when there is none.
func (m *matcher) longest(s string) (n int, id int32) {
	id = none
	lo, hi := int(m.first[s[0]]), int(m.first[int(s[0])+1])
	// texts[lo:hi] share the first k bytes of s. The shortest of them comes first.
	for k := 1; lo < hi; k++ {
		if len(m.texts[lo]) == k {
			n, id = k, m.ids[lo]
			lo++
		}
		if k == len(s) {
			break
		}
		c := s[k]
		in := m.texts[lo:hi]
		if len(in) > 0 && (in[0][k] != c || in[len(in)-1][k] != c) {
			from := sort.Search(len(in), func(i int) bool { return in[i][k] >= c })
			to := from + sort.Search(len(in)-from, func(i int) bool { return in[from+i][k] > c })
			lo, hi = lo+from, lo+to
		}
	}
	return n, id
}

// trimSpace cuts ASCII white space from the start of s.
func trimSpace(s string) string { return strings.TrimLeft(s, " \t\n\v\f\r") }
