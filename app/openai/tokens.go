package openai

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// TokenizeRequest is the body of POST /tokenize, with llama-server's names.
type TokenizeRequest struct {
	Content string `json:"content"`
	// ParseSpecial reads control tokens in the text as such; true where it is absent.
	ParseSpecial bool `json:"parse_special"`
	WithPieces   bool `json:"with_pieces"`
}

// TokenPiece is a token and its text, as an answer lists them where pieces were asked for; Piece is a list of byte values where it is no valid UTF-8.
type TokenPiece struct {
	ID    int32 `json:"id"`
	Piece any   `json:"piece"`
}

// DetokenizeRequest is the body of POST /detokenize.
type DetokenizeRequest struct {
	Tokens []int32 `json:"tokens"`
}

// DetokenizeResponse is the text of the tokens.
type DetokenizeResponse struct {
	Content string `json:"content"`
}

// ParseTokenize reads a tokenize request.
func ParseTokenize(body []byte) (*TokenizeRequest, error) {
	o, bad := parseBody(body)
	if bad != nil {
		return nil, bad
	}
	r := &TokenizeRequest{Content: o.text("content"), ParseSpecial: true, WithPieces: o.flag("with_pieces")}
	if o.raw("content") == nil {
		o.fail("content", "missing")
	}
	if o.raw("parse_special") != nil {
		r.ParseSpecial = o.flag("parse_special")
	}
	if o.err != nil {
		return nil, o.err
	}
	return r, nil
}

// ParseDetokenize reads a detokenize request; vocab bounds the ids, 0 leaves them unchecked.
func ParseDetokenize(body []byte, vocab int) (*DetokenizeRequest, error) {
	o, bad := parseBody(body)
	if bad != nil {
		return nil, bad
	}
	r := &DetokenizeRequest{Tokens: []int32{}}
	if o.raw("tokens") == nil {
		o.fail("tokens", "missing")
	}
	limit := int64(math.MaxInt32)
	if vocab > 0 {
		limit = int64(vocab) - 1
	}
	for i, item := range o.list("tokens") {
		var id int64 = -1
		if kind(item) == "a number" {
			if n, err := wholeNumber(item); err == nil {
				id = n
			}
		}
		if id < 0 || id > limit {
			o.fail(fmt.Sprintf("tokens[%d]", i), "must be a token id up to %d, got %.40s", limit, item)
			break
		}
		r.Tokens = append(r.Tokens, int32(id))
	}
	if o.err != nil {
		return nil, o.err
	}
	return r, nil
}

// NewTokenPiece pairs a token with its bytes.
func NewTokenPiece(id int32, text []byte) TokenPiece {
	if utf8.Valid(text) {
		return TokenPiece{ID: id, Piece: string(text)}
	}
	values := []int{}
	for _, b := range text {
		values = append(values, int(b))
	}
	return TokenPiece{ID: id, Piece: values}
}
