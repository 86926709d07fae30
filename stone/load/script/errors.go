package script

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Error is a mistake in a script, with its place.
type Error struct {
	Path    string // the script, or the module of its that the mistake is in
	Line    int    // 0 if no line is to blame
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
}

// reason is what a file operation's error says, without the path that it names too.
func reason(err error) string {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err.Error()
	}
	return err.Error()
}

// syntaxError turns an error of the parser or the compiler into an Error.
func syntaxError(err error, name, source string) *Error {
	var parsing *parse.Error
	var compiling *lua.CompileError
	switch {
	case errors.As(err, &parsing) && parsing.Pos.Line == parse.EOF:
		return &Error{name, strings.Count(source, "\n") + 1, "syntax error: the script ends too early (an `end`, a bracket or a quote is missing)"}
	case errors.As(err, &parsing) && parsing.Token != "":
		return &Error{name, parsing.Pos.Line, fmt.Sprintf("syntax error near %q", parsing.Token)}
	case errors.As(err, &parsing):
		return &Error{name, parsing.Pos.Line, "syntax error: " + parsing.Message}
	case errors.As(err, &compiling):
		return &Error{name, compiling.Line, compiling.Message}
	}
	return &Error{name, 0, err.Error()}
}

// explain turns what a call into Lua failed with into an Error. hook is empty while a file is loaded.
func (m *machine) explain(hook string, err error) error {
	message, trace := err.Error(), ""
	var failed *lua.ApiError
	if errors.As(err, &failed) {
		message, trace = "the error is "+described(failed.Object), failed.StackTrace
		if s, ok := text(failed.Object); ok {
			message = strings.TrimSpace(s)
		}
	}
	e := &Error{Path: m.options.Path, Message: message}
	if !m.locate(e, message) {
		for at := range strings.SplitSeq(trace, "\n") {
			place := &Error{}
			if m.locate(place, strings.TrimSpace(at)) {
				e.Path, e.Line = place.Path, place.Line
				break
			}
		}
	}
	switch {
	case m.watch.failure != nil && hook == "":
		e.Message = "loading the script " + m.watch.failure.Error()
	case m.watch.failure != nil:
		e.Message = hook + "() " + m.watch.failure.Error()
	case hook != "":
		e.Message = "in " + hook + "(): " + e.Message
	}
	return e
}

// locate reads `path:line: message` if path is a file of this script.
func (m *machine) locate(e *Error, text string) bool {
	for _, chunk := range m.chunks {
		after, found := strings.CutPrefix(text, chunk+":")
		if !found {
			continue
		}
		number, message, _ := strings.Cut(after, ":")
		if line, err := strconv.Atoi(number); err == nil {
			e.Path, e.Line, e.Message = chunk, line, strings.TrimSpace(message)
			return true
		}
	}
	return false
}

// badReturn is an Error about what a hook returned; it names the line where the hook begins.
func (m *machine) badReturn(hook *lua.LFunction, format string, values ...any) error {
	e := &Error{Path: m.options.Path, Message: fmt.Sprintf(format, values...)}
	if hook != nil && hook.Proto != nil {
		e.Path, e.Line = hook.Proto.SourceName, hook.Proto.LineDefined
	}
	return e
}
