package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// object reads the fields of one JSON object by exact name. It keeps the first error, which names the field;
// null counts as absent, unknown fields are ignored, a field given twice is an error.
type object struct {
	path   string // "" for the body, "messages[1]" within
	fields map[string]json.RawMessage
	err    *Error
}

// parseBody reads the outermost object of a request body.
func parseBody(data []byte) (*object, *Error) {
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, invalid("", "the body is not valid JSON: %s at byte %d", syntax, syntax.Offset)
		}
		return nil, invalid("", "the body is not valid JSON: %s", err)
	}
	return parseObject("", raw)
}

// parseObject reads raw, which is valid JSON, as an object.
func parseObject(path string, raw json.RawMessage) (*object, *Error) {
	if kind(raw) != "an object" {
		if path == "" {
			return nil, invalid("", "the body must be a JSON object, not %s", kind(raw))
		}
		return nil, invalid(path, "must be an object, not %s", kind(raw))
	}
	o := &object{path: path, fields: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, invalid(path, "%s", err)
	}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, invalid(path, "not a JSON object")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil && err != io.EOF {
			return nil, invalid(o.at(name), "%s", err)
		}
		if _, twice := o.fields[name]; twice {
			return nil, invalid(o.at(name), "given twice")
		}
		o.fields[name] = value
	}
	return o, nil
}

func (o *object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// raw gives a field's JSON, nil where it is absent or null.
func (o *object) raw(name string) json.RawMessage {
	value := o.fields[name]
	if len(value) == 0 || value[0] == 'n' {
		return nil
	}
	return value
}

func (o *object) fail(name, format string, args ...any) {
	if o.err == nil {
		o.err = invalid(o.at(name), format, args...)
	}
}

// adopt keeps the error of something nested.
func (o *object) adopt(err *Error) {
	if o.err == nil {
		o.err = err
	}
}

func (o *object) want(name, expected string) (json.RawMessage, bool) {
	value := o.raw(name)
	if value == nil {
		return nil, false
	}
	if got := kind(value); got != expected {
		o.fail(name, "must be %s, not %s", expected, got)
		return nil, false
	}
	return value, true
}

func (o *object) text(name string) string {
	value, ok := o.want(name, "a string")
	if !ok {
		return ""
	}
	return unquote(value)
}

func (o *object) flag(name string) bool {
	value, ok := o.want(name, "a boolean")
	return ok && value[0] == 't'
}

// number reads a finite number within [low, high].
func (o *object) number(name string, low, high float64) *float64 {
	value, ok := o.want(name, "a number")
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f < low || f > high {
		o.fail(name, "must be between %v and %v, got %s", low, high, value)
		return nil
	}
	return &f
}

// integer reads a whole number within [low, high]; 3.0 counts as one.
func (o *object) integer(name string, low, high int64) *int64 {
	value, ok := o.want(name, "a number")
	if !ok {
		return nil
	}
	n, err := wholeNumber(value)
	switch {
	case err != nil:
		o.fail(name, "%s", err)
		return nil
	case n < low || n > high:
		open := high == math.MaxInt64 || high == math.MaxInt32
		if open && n < low {
			o.fail(name, "must be at least %d, got %s", low, value)
		} else if open {
			o.fail(name, "must be at most %d, got %s", high, value)
		} else {
			o.fail(name, "must be between %d and %d, got %s", low, high, value)
		}
		return nil
	}
	return &n
}

func wholeNumber(value json.RawMessage) (int64, error) {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, fmt.Errorf("must be a whole number, got %s", value)
	}
	return int64(f), nil
}

// list gives the elements of an array; nil where it is absent.
func (o *object) list(name string) []json.RawMessage {
	value, ok := o.want(name, "an array")
	if !ok {
		return nil
	}
	return elements(value)
}

// elements splits an array of valid JSON.
func elements(array json.RawMessage) []json.RawMessage {
	out := []json.RawMessage{}
	// The text was validated as a whole, so this cannot fail.
	_ = json.Unmarshal(array, &out)
	return out
}

// child opens a nested object; nil where it is absent.
func (o *object) child(name string) *object {
	value, ok := o.want(name, "an object")
	if !ok {
		return nil
	}
	nested, err := parseObject(o.at(name), value)
	if err != nil {
		o.adopt(err)
		return nil
	}
	return nested
}

func unquote(value json.RawMessage) string {
	var s string
	_ = json.Unmarshal(value, &s) // valid JSON that begins with a quote
	return s
}

// kind names the type of a JSON value for an error sentence.
func kind(value json.RawMessage) string {
	value = bytes.TrimLeft(value, " \t\r\n")
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
