// Package openai holds the wire types of the OpenAI dialect and the pure conversions between them and the
// engine's own types. Nothing here knows of HTTP, files or processes.
//
// A body is read by ParseChat or ParseCompletion, which name the field that is wrong; Engine turns the request
// into an engine.Request; ChatAnswer, ChatStream and their completion twins turn events into what goes out.
//
// Beyond OpenAI's fields the dialect knows those that llama-server and vLLM made customary: top_k, min_p,
// repeat_penalty, repeat_last_n, ignore_eos, return_progress, chat_template_kwargs, continue_final_message,
// reasoning_content, timings, prompt_progress, and one of our own: "reasoning": "auto", "on" or "off".
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"ingot/engine"
	"ingot/engine/chat"
)

// Error types as OpenAI names them.
const (
	TypeInvalid     = "invalid_request_error"
	TypeAuth        = "authentication_error"
	TypePermission  = "permission_error"
	TypeRateLimit   = "rate_limit_error"
	TypeUnavailable = "unavailable_error"
	TypeServer      = "server_error"
)

// Error is OpenAI's error object with the HTTP status it travels under.
type Error struct {
	Status  int     `json:"-"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // the field at fault, as a path: messages[2].content
	Code    *string `json:"code"`

	// Progress is the share of the model that is loaded, with code model_loading.
	Progress *float64 `json:"progress,omitempty"`
}

// ErrorBody is what a failed call answers.
type ErrorBody struct {
	Error *Error `json:"error"`
}

func (e *Error) Error() string { return e.Message }

// UnmarshalJSON also reads what other servers send: llama-server and vLLM write the status as a number into code.
func (e *Error) UnmarshalJSON(data []byte) error {
	type plain Error
	wire := struct {
		*plain
		Code any `json:"code"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	e.Code = nil
	switch code := wire.Code.(type) {
	case string:
		e.Code = &code
	case float64:
		e.Code = new(strconv.FormatFloat(code, 'f', -1, 64))
	}
	return nil
}

// NewError makes an error object; an empty code is sent as null.
func NewError(status int, kind, code, message string) *Error {
	e := &Error{Status: status, Type: kind, Message: message}
	if code != "" {
		e.Code = &code
	}
	return e
}

// invalid is a 400 that names the field at fault.
func invalid(param, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if param == "" {
		return NewError(400, TypeInvalid, "", message)
	}
	e := NewError(400, TypeInvalid, "", param+": "+message)
	e.Param = &param
	return e
}

// FromEngine gives an engine's error the status and code that clients look for. The sentence is the engine's.
func FromEngine(err error) *Error {
	var own *Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, engine.ErrPromptTooLong):
		// The sentence names both counts.
		return NewError(400, TypeInvalid, "context_length_exceeded", err.Error())
	case errors.Is(err, chat.ErrRefused):
		return NewError(400, TypeInvalid, "template_error", err.Error())
	case errors.Is(err, engine.ErrNoVocabulary):
		return NewError(400, TypeInvalid, "no_vocabulary", err.Error())
	case errors.Is(err, engine.ErrNoTemplate):
		return NewError(400, TypeInvalid, "no_chat_template", err.Error())
	case errors.Is(err, engine.ErrBadRequest):
		return NewError(400, TypeInvalid, "", err.Error())
	case errors.Is(err, engine.ErrClosed):
		return NewError(503, TypeUnavailable, "engine_closed", err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return NewError(504, TypeServer, "timeout", "the answer took too long")
	case errors.Is(err, context.Canceled):
		// 499 is what nginx logs for a client that went away; nobody is left to read it.
		return NewError(499, TypeServer, "cancelled", "the request was cancelled")
	}
	return NewError(500, TypeServer, "", err.Error())
}
