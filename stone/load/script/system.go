package script

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// openSystem is what a script sees of the machine: its environment, files, and where it prints to.
func (m *machine) openSystem() {
	m.set("os", map[string]lua.LGFunction{
		"getenv":  m.getenv,
		"execute": unavailable("os.execute", "prepare what the script needs before the load starts"),
		"exit":    unavailable("os.exit", "wrk.thread:stop() ends a thread's load, error(...) the run"),
	})
	m.state.GetGlobal("os").(*lua.LTable).RawSetString("setenv", lua.LNil)
	noInput := "read files with io.open or io.lines"
	m.set("io", map[string]lua.LGFunction{
		"open":   m.withFile("io", "open"),
		"lines":  m.lines(),
		"popen":  unavailable("io.popen", "prepare a file before the load starts and read it with io.open"),
		"read":   unavailable("io.read", noInput),
		"input":  unavailable("io.input", noInput),
		"output": unavailable("io.output", "write files with io.open(name, \"w\")"),
		"write": func(L *lua.LState) int {
			m.write(L, 1)
			return 0
		},
	})
	io := m.state.GetGlobal("io").(*lua.LTable)
	io.RawSetString("stdout", m.printer())
	io.RawSetString("stderr", m.printer())
	io.RawSetString("stdin", lua.LNil)
	info := m.original("debug", "getinfo")
	m.set("debug", map[string]lua.LGFunction{"getinfo": func(L *lua.LState) int {
		results := info(L)
		if table, ok := L.Get(-1).(*lua.LTable); ok { // scripts find their folder by it
			source := lua.LVAsString(table.RawGetString("source"))
			table.RawSetString("source", lua.LString("@"+source))
			table.RawSetString("short_src", lua.LString(source))
		}
		return results
	}})
	m.set("_G", map[string]lua.LGFunction{"print": m.print, "collectgarbage": collectGarbage})
	m.state.SetGlobal("_printregs", lua.LNil)
}

// unavailable is a function that says that it is not there, and what to do instead.
func unavailable(name, remedy string) lua.LGFunction {
	return func(L *lua.LState) int {
		L.RaiseError("%s is not available in a load script: %s", name, remedy)
		return 0
	}
}

func (m *machine) getenv(L *lua.LState) int {
	if value, ok := m.environment(L.CheckString(1)); ok {
		L.Push(lua.LString(value))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

func (m *machine) environment(name string) (string, bool) {
	if value, ok := m.options.Env[name]; ok {
		return value, true
	}
	return os.LookupEnv(name)
}

// withFile is a library function that opens a file for reading: one that is not in the working folder is looked for
// in the script's.
func (m *machine) withFile(library, name string) lua.LGFunction {
	open := m.state.GetGlobal(library).(*lua.LTable).RawGetString(name)
	return func(L *lua.LState) int {
		path, reads := L.CheckString(1), strings.HasPrefix(L.OptString(2, "r"), "r")
		if reads {
			path = m.find(path)
		}
		arguments := L.GetTop()
		L.Push(open)
		L.Push(lua.LString(path))
		for i := 2; i <= arguments; i++ {
			L.Push(L.Get(i))
		}
		L.Call(arguments, lua.MultRet)
		return L.GetTop() - arguments
	}
}

// lines is io.lines(name). A file that cannot be read is an error, as in Lua.
func (m *machine) lines() lua.LGFunction {
	lines := m.withFile("io", "lines")
	return func(L *lua.LState) int {
		path := L.CheckString(1)
		if _, err := os.Stat(m.find(path)); err != nil {
			L.RaiseError("io.lines: cannot read %s: %s", path, reason(err))
		}
		return lines(L)
	}
}

// find is the path of a file that is named from the working folder or from the script's.
func (m *machine) find(path string) string {
	if _, err := os.Stat(path); err == nil || filepath.IsAbs(path) {
		return path
	}
	beside := filepath.Join(filepath.Dir(m.options.Path), path)
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return path
}

func (m *machine) print(L *lua.LState) int {
	var line []byte
	for i := 1; i <= L.GetTop(); i++ {
		if i > 1 {
			line = append(line, '\t')
		}
		line = append(line, m.shown(L.Get(i))...)
	}
	m.output(L, append(line, '\n'))
	return 0
}

// write prints the arguments from the given one on.
func (m *machine) write(L *lua.LState, from int) {
	var out []byte
	for i := from; i <= L.GetTop(); i++ {
		var ok bool
		if out, ok = appendText(out, L.Get(i)); !ok {
			L.ArgError(i, "string expected, got "+L.Get(i).Type().String())
		}
	}
	m.output(L, out)
}

func (m *machine) output(L *lua.LState, text []byte) {
	if _, err := m.options.Output.Write(text); err != nil {
		L.RaiseError("cannot print: %s", reason(err))
	}
}

// printer stands for io.stdout and io.stderr.
func (m *machine) printer() *lua.LUserData {
	file := m.state.NewUserData()
	self := func(L *lua.LState) int {
		L.Push(file)
		return 1
	}
	methods := m.state.SetFuncs(m.state.NewTable(), map[string]lua.LGFunction{
		"write": func(L *lua.LState) int {
			m.write(L, 2)
			return self(L)
		},
		"flush": self, "setvbuf": self, "close": self,
	})
	meta := m.state.NewTable()
	meta.RawSetString("__index", methods)
	file.Metatable = meta
	return file
}

// collectGarbage answers without collecting: a script's habit must not stop the load generator.
func collectGarbage(L *lua.LState) int {
	n := lua.LNumber(0)
	if L.OptString(1, "collect") == "count" {
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		n = lua.LNumber(memory.HeapAlloc) / 1024
	}
	L.Push(n)
	return 1
}

func now() float64 { return float64(time.Now().UnixNano()) / 1e9 }
