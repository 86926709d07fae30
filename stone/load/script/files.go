package script

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	lua "github.com/yuin/gopher-lua"
)

// stream is a Lua file. gopher-lua's own cuts lines after 4096 bytes and knows half of the formats of read().
type stream struct {
	file   *os.File // nil for io.stdout and io.stderr
	reader *bufio.Reader
	writer io.Writer
	closed bool
}

var errClosed = errors.New("the file is closed")

// openFiles makes the library io.
func (m *machine) openFiles() {
	L := m.state
	m.files = L.NewTable()
	m.files.RawSetString("__index", m.files)
	L.SetFuncs(m.files, map[string]lua.LGFunction{
		"read": func(L *lua.LState) int { return m.read(L, checkStream(L)) },
		"lines": func(L *lua.LState) int {
			L.Push(m.iterator(checkStream(L), false))
			return 1
		},
		"write": func(L *lua.LState) int { return m.write(L, checkStream(L), 2) },
		"close": closeFile, "seek": seek, "flush": itself, "setvbuf": itself,
		"__tostring": func(L *lua.LState) int {
			state := ""
			if checkStream(L).closed {
				state = " (closed)"
			}
			L.Push(lua.LString("file" + state))
			return 1
		},
	})
	printer := m.newStream(&stream{writer: m.options.Output})
	noInput := "read files with io.open or io.lines"
	library := L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"open": m.open, "lines": m.lines, "close": closeFile, "type": fileType,
		"write": func(L *lua.LState) int { return m.write(L, printer.Value.(*stream), 1) },
		"flush": func(*lua.LState) int { return 0 },
		"popen": unavailable("io.popen", "prepare a file before the load starts and read it with io.open"),
		"read":  unavailable("io.read", noInput), "input": unavailable("io.input", noInput),
		"output": unavailable("io.output", `write files with io.open(name, "w")`),
	})
	library.RawSetString("stdout", printer)
	library.RawSetString("stderr", printer)
	L.SetGlobal("io", library)
}

func (m *machine) newStream(s *stream) *lua.LUserData {
	file := m.state.NewUserData()
	file.Value, file.Metatable = s, m.files
	return file
}

func checkStream(L *lua.LState) *stream {
	s, ok := L.CheckUserData(1).Value.(*stream)
	if !ok {
		L.ArgError(1, "file expected")
	}
	return s
}

// itself answers with the file, for what needs nothing done.
func itself(L *lua.LState) int {
	L.SetTop(1)
	return 1
}

// failed is how Lua's file functions say that something went wrong.
func failed(L *lua.LState, name string, err error) int {
	var number syscall.Errno
	_ = errors.As(err, &number)
	L.Push(lua.LNil)
	L.Push(lua.LString(strings.TrimPrefix(name+": ", ": ") + reason(err)))
	L.Push(lua.LNumber(number))
	return 3
}

var modes = map[string]int{
	"r": os.O_RDONLY, "w": os.O_WRONLY | os.O_CREATE | os.O_TRUNC, "a": os.O_WRONLY | os.O_CREATE | os.O_APPEND,
	"r+": os.O_RDWR, "w+": os.O_RDWR | os.O_CREATE | os.O_TRUNC, "a+": os.O_RDWR | os.O_CREATE | os.O_APPEND,
}

// open is io.open(name, mode).
func (m *machine) open(L *lua.LState) int {
	name := L.CheckString(1)
	flags, known := modes[strings.ReplaceAll(L.OptString(2, "r"), "b", "")]
	if !known {
		L.RaiseError("io.open: %q is no mode; give r, w, a, r+, w+ or a+", L.CheckString(2))
	}
	var file *os.File
	var err error
	if flags == os.O_RDONLY {
		file, err = m.readFile(name)
	} else {
		file, err = m.writeFile(name, flags)
	}
	if err != nil {
		return failed(L, name, err)
	}
	L.Push(m.newStream(&stream{file: file, reader: bufio.NewReader(file), writer: file}))
	return 1
}

// lines is io.lines(name): a file that cannot be read is an error, and it is closed at its end.
func (m *machine) lines(L *lua.LState) int {
	name := L.CheckString(1)
	file, err := m.readFile(name)
	if err != nil {
		L.RaiseError("io.lines: cannot read %s: %s", name, reason(err))
	}
	L.Push(m.iterator(&stream{file: file, reader: bufio.NewReader(file)}, true))
	return 1
}

func (m *machine) iterator(s *stream, closes bool) *lua.LFunction {
	return m.state.NewFunction(func(L *lua.LState) int {
		line, err := m.readOne(s, "l")
		if err != nil && err != io.EOF {
			L.RaiseError("%s", reason(err))
		}
		if err != nil && closes {
			s.closed = true
			_ = s.file.Close()
		}
		L.Push(line)
		return 1
	})
}

// read is file:read(formats...): up to the first that fails, for which it gives nil.
func (m *machine) read(L *lua.LState, s *stream) int {
	results, top := 0, L.GetTop()
	for i := 2; i <= max(top, 2); i++ {
		format := "l"
		switch v := L.Get(i).(type) {
		case lua.LNumber:
			format = fmt.Sprint(int64(v))
		case lua.LString:
			format = strings.TrimPrefix(string(v), "*")
		}
		value, err := m.readOne(s, format)
		if err != nil && err != io.EOF {
			return failed(L, "", err)
		}
		L.Push(value)
		if results++; err != nil {
			break
		}
	}
	return results
}

// readOne reads what one format says; at the end of the file it gives nil and io.EOF.
func (m *machine) readOne(s *stream, format string) (lua.LValue, error) {
	if s.closed || s.reader == nil {
		return lua.LNil, errClosed
	}
	var text []byte
	var err error
	switch {
	case strings.HasPrefix(format, "a"):
		if text, err = io.ReadAll(io.LimitReader(s.reader, maxString+1)); err == nil {
			m.made(m.state, len(text))
		}
	case strings.HasPrefix(format, "l"):
		text, err = s.reader.ReadBytes('\n')
		if err == io.EOF && len(text) > 0 {
			err = nil
		}
		text = []byte(strings.TrimSuffix(string(text), "\n"))
		m.watch.spend(len(text))
	case strings.HasPrefix(format, "n"):
		var number float64
		if _, err = fmt.Fscan(s.reader, &number); err == nil {
			return lua.LNumber(number), nil
		}
		err = io.EOF
	default:
		return s.readBytes(format)
	}
	if err != nil {
		return lua.LNil, err
	}
	return lua.LString(text), nil
}

func (s *stream) readBytes(count string) (lua.LValue, error) {
	var n int64
	if _, err := fmt.Sscan(count, &n); err != nil || n < 0 || n > maxString {
		return lua.LNil, fmt.Errorf("%q is no format of read (*a, *l, *n or a number of bytes)", count)
	}
	if _, err := s.reader.Peek(1); err != nil {
		return lua.LNil, err
	}
	text, err := io.ReadAll(io.LimitReader(s.reader, n))
	return lua.LString(text), err
}

// write is file:write(...), with the values from an argument on.
func (m *machine) write(L *lua.LState, s *stream, from int) int {
	var out []byte
	for i := from; i <= L.GetTop(); i++ {
		var ok bool
		if out, ok = appendText(out, L.Get(i)); !ok {
			L.RaiseError("write: a %s is neither string nor number", L.Get(i).Type())
		}
	}
	if s.closed || s.writer == nil {
		return failed(L, "", errClosed)
	}
	if err := s.settle(); err != nil {
		return failed(L, "", err)
	}
	if _, err := s.writer.Write(out); err != nil {
		return failed(L, "", err)
	}
	if from == 1 {
		L.Push(lua.LTrue)
		return 1
	}
	return itself(L)
}

// settle puts the file's position where the script believes it to be: what was read ahead was not read.
func (s *stream) settle() error {
	if s.reader == nil || s.reader.Buffered() == 0 {
		return nil
	}
	_, err := s.file.Seek(-int64(s.reader.Buffered()), io.SeekCurrent)
	s.reader.Reset(s.file)
	return err
}

func closeFile(L *lua.LState) int {
	s := checkStream(L)
	if s.file == nil {
		return itself(L)
	}
	if s.closed {
		return failed(L, "", errClosed)
	}
	s.closed = true
	if err := s.file.Close(); err != nil {
		return failed(L, "", err)
	}
	L.Push(lua.LTrue)
	return 1
}

// seek is file:seek(whence, offset).
func seek(L *lua.LState) int {
	s, whence := checkStream(L), L.OptString(2, "cur")
	from, known := map[string]int{"set": io.SeekStart, "cur": io.SeekCurrent, "end": io.SeekEnd}[whence]
	switch {
	case !known:
		L.RaiseError("seek: %q is none of set, cur and end", whence)
	case s.closed || s.file == nil:
		return failed(L, "", errClosed)
	}
	err, at := s.settle(), int64(0)
	if err == nil {
		at, err = s.file.Seek(L.OptInt64(3, 0), from)
		s.reader.Reset(s.file)
	}
	if err != nil {
		return failed(L, "", err)
	}
	L.Push(lua.LNumber(at))
	return 1
}

// fileType is io.type(value).
func fileType(L *lua.LState) int {
	data, _ := L.CheckAny(1).(*lua.LUserData)
	if data != nil {
		if s, ok := data.Value.(*stream); ok {
			L.Push(lua.LString(map[bool]string{false: "file", true: "closed file"}[s.closed]))
			return 1
		}
	}
	L.Push(lua.LNil)
	return 1
}
