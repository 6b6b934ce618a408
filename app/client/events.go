package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one server-sent event.
const maxEvent = 16 << 20

var errEventTooLong = errors.New("the server sent an event that is too long")

// events reads the data of server-sent events; comments, names and ids are skipped. It returns io.EOF at the end.
type events struct {
	in *bufio.Reader
}

func newEvents(body io.Reader) *events { return &events{in: bufio.NewReaderSize(body, 64<<10)} }

// next gives the data of the next event that has some; the bytes are the caller's.
func (e *events) next() ([]byte, error) {
	var data []byte
	for {
		line, err := e.line()
		if err != nil {
			if err == io.EOF && len(data) > 0 {
				return data, nil
			}
			return nil, err
		}
		if len(line) == 0 {
			if data != nil {
				return data, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		if string(field) != "data" {
			continue
		}
		if data == nil {
			data = []byte{} // an empty one counts too
		} else {
			data = append(data, '\n')
		}
		data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		if len(data) > maxEvent {
			return nil, errEventTooLong
		}
	}
}

// line reads one line without its end.
func (e *events) line() ([]byte, error) {
	var line []byte
	for {
		part, err := e.in.ReadSlice('\n')
		line = append(line, part...)
		if err == bufio.ErrBufferFull && len(line) <= maxEvent {
			continue
		}
		switch {
		case err == bufio.ErrBufferFull:
			return nil, errEventTooLong
		case err == io.EOF && len(line) > 0:
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
