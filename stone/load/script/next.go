package script

import (
	"bytes"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Next appends the thread's next HTTP/1.1 request to a buffer. operation is its name, method and path without query;
// delay is by how much delay() puts it off. Requests that request() returned together come one by one. The error is
// ErrStopped or an *Error.
func (s *Script) Next(to []byte) (request []byte, operation string, delay time.Duration, err error) {
	if s.stopped {
		return to, "", 0, ErrStopped
	}
	pipelined := s.rest != ""
	if !pipelined {
		if delay, err = s.delay(); err != nil {
			return to, "", 0, err
		}
		if s.rest = s.static; s.rest == "" {
			if s.rest, err = s.request(); err != nil {
				return to, "", 0, err
			}
		}
	}
	first, rest, err := cut(s.rest)
	if err != nil {
		what := "request() returned what is no HTTP request: %v"
		if pipelined {
			what = "request() returned a request and then something that is none (a body needs Content-Length): %v"
		}
		return to, "", 0, s.thread.badReturn(s.thread.hook("request"), what, err)
	}
	s.rest = rest
	return append(to, first.text...), s.names.name(first.method, first.target), delay, nil
}

const maxDelay = 24 * time.Hour

// delay calls delay() for milliseconds.
func (s *Script) delay() (time.Duration, error) {
	hook := s.thread.hook("delay")
	if hook == nil {
		return 0, nil
	}
	if err := s.thread.call("delay", hook, 1); err != nil {
		return 0, err
	}
	value := s.thread.pop()
	if value == lua.LNil {
		return 0, nil
	}
	shown, ok := text(value)
	ms, isNumber := parseNumber(shown)
	if limit := float64(maxDelay.Milliseconds()); !ok || !isNumber || ms < 0 || ms > limit {
		return 0, s.thread.badReturn(hook, "delay() returned %s; give milliseconds, 0 to %d", described(value), maxDelay.Milliseconds())
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// request calls request(), or wrk.request() if the script has none, for one request or several in a row.
func (s *Script) request() (string, error) {
	hook := s.thread.hook("request")
	function := lua.LValue(hook)
	if hook == nil {
		function = s.thread.wrk.RawGetString("request")
	}
	if err := s.thread.call("request", function, 1); err != nil {
		return "", err
	}
	value := s.thread.pop()
	made, ok := value.(lua.LString)
	switch {
	case !ok:
		return "", s.thread.badReturn(hook, "request() returned %s; return a string, such as wrk.format() makes", described(value))
	case made == "":
		return "", s.thread.badReturn(hook, "request() returned an empty string; return a request, such as wrk.format() makes")
	}
	return string(made), nil
}

func described(value lua.LValue) string {
	if value == lua.LNil {
		return "nil"
	}
	shown, _ := text(value)
	return strings.TrimSpace("a " + value.Type().String() + " " + shorten(shown))
}

func (m *machine) pop() lua.LValue {
	value := m.state.Get(-1)
	m.state.Pop(1)
	return value
}

// Response hands an answer to response(status, headers, body); it does nothing if the script has none. head holds the
// header lines as they were received; of a name that is there twice the last value counts, as in wrk.
func (s *Script) Response(status int, head, body []byte) error {
	hook := s.thread.hook("response")
	if hook == nil {
		return nil
	}
	headers := s.thread.state.CreateTable(0, 8)
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\n"))
		if name, value, ok := bytes.Cut(line, []byte(":")); ok {
			headers.RawSetString(string(name), lua.LString(bytes.TrimSpace(value)))
		}
	}
	return s.thread.call("response", hook, 0, lua.LNumber(status), headers, lua.LString(body))
}
