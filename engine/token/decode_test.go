package token

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStreamHoldsCharactersBack(t *testing.T) {
	v := chatVocab(t)
	bytes := func(text string) (ids []int32) {
		for _, b := range []byte(text) {
			ids = append(ids, int32(b))
		}
		return ids
	}
	for _, c := range []struct{ bytes, want string }{
		{"é", "|é|"},
		{"😀!", "|||😀|!|"},
		{"a\xe2\x82", "a|||\ufffd"},
		{"\xe2\x82a", "||\ufffda|"},
		{"\xff\xc3", "\ufffd||\ufffd"},
		{"\xc3\xc3\xa9", "|\ufffd|é|"},
		{"\xf0\x9f\x98\xe2\x82\xac", "|||\ufffd||€|"},
		{"\xed\xa0\x80", "|\ufffd\ufffd|\ufffd|"}, // a surrogate: no first two bytes of a character
		{"\x80\x80", "\ufffd|\ufffd|"},
	} {
		s := v.NewStream()
		var got []string
		for _, id := range bytes(c.bytes) {
			got = append(got, s.Push(id))
		}
		got = append(got, s.Flush())
		if joined := strings.Join(got, "|"); joined != c.want {
			t.Errorf("%q: %q, want %q", c.bytes, joined, c.want)
		}
	}
}

func TestStreamLeavesControlTokensOut(t *testing.T) {
	v := chatVocab(t)
	end, _ := v.Lookup("<|im_end|>")
	think, _ := v.Lookup("<think>")
	for special, want := range map[bool]string{false: "<think>a", true: "<think>a<|im_end|>"} {
		s := v.NewStream()
		s.Special = special
		got := s.Push(think) + s.Push('a') + s.Push(end) + s.Push(-1) + s.Push(1<<30) + s.Flush()
		if got != want {
			t.Errorf("special %v: %q, want %q", special, got, want)
		}
	}
}

func TestPiecesOfOddTokens(t *testing.T) {
	m := bpeMeta("gpt-2", nil, map[string]Type{"<0x41>": Byte, "<0xZZ>": Byte, "中": Normal, "Ġ中": UserDefined})
	v := mustNew(t, m)
	for text, want := range map[string]string{"<0x41>": "A", "<0xZZ>": "<0xZZ>", "中": "中", "Ġ中": "Ġ中", "Ġ": " ", "Ċ": "\n"} {
		id, ok := v.Lookup(text)
		if got := string(v.Piece(id)); !ok || got != want {
			t.Errorf("%q stands for %q, want %q", text, got, want)
		}
	}
}

// FuzzStream checks that pieces of text are whole characters and that together they are what decoding at once gives.
func FuzzStream(f *testing.F) {
	v := chatVocab(f)
	f.Add([]byte("héllo 😀"), uint8(3))
	f.Add([]byte("\xff\xfe\xe2\x82\xf0\x9f\x98a"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		var ids []int32
		for i, b := range data {
			id := int32(b)
			if step > 0 && i%int(step) == 0 {
				id += 256 // a merged or special token among the bytes
			}
			ids = append(ids, id)
		}
		for _, special := range []bool{false, true} {
			s := v.NewStream()
			s.Special = special
			var got strings.Builder
			var raw []byte
			for _, id := range ids {
				text := s.Push(id)
				if !utf8.ValidString(text) {
					t.Fatalf("%q is not whole characters", text)
				}
				got.WriteString(text)
				if special || !v.IsControl(id) {
					raw = append(raw, v.Piece(id)...)
				}
			}
			got.WriteString(s.Flush())
			whole := validUTF8(raw)
			if n := partial(raw); n > 0 {
				whole = validUTF8(raw[:len(raw)-n]) + "\ufffd"
			}
			if got.String() != whole || v.Decode(ids, special) != whole {
				t.Errorf("stream %q, at once %q, decoded %q", got.String(), whole, v.Decode(ids, special))
			}
			if utf8.Valid(raw) && whole != string(raw) {
				t.Errorf("%q became %q", raw, whole)
			}
		}
	})
}
