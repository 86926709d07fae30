package script

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const prepare = "prepare what the script needs before the load starts"

// openSystem is what a script sees of the machine: its environment, the time, and where it prints to.
func (m *machine) openSystem() {
	m.set("os", map[string]lua.LGFunction{
		"getenv":  m.getenv,
		"execute": unavailable("os.execute", prepare), "remove": unavailable("os.remove", prepare),
		"rename": unavailable("os.rename", prepare), "tmpname": unavailable("os.tmpname", `io.open(name, "w") writes into the results`),
		"date": m.date(),
		"exit": unavailable("os.exit", "wrk.thread:stop() ends a thread's load, error(...) the run"),
	})
	m.state.GetGlobal("os").(*lua.LTable).RawSetString("setenv", lua.LNil)
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
	if value, ok := m.options.Env[L.CheckString(1)]; ok {
		L.Push(lua.LString(value))
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

// date is os.date, with the formats of C that gopher-lua's does not know.
func (m *machine) date() lua.LGFunction {
	date := m.original("os", "date")
	return func(L *lua.LState) int {
		format, when := L.OptString(1, "%c"), time.Unix(L.OptInt64(2, time.Now().Unix()), 0)
		if strings.HasPrefix(format, "!") {
			when = when.UTC()
		}
		more := map[byte]string{
			'T': "%H:%M:%S", 'D': "%m/%d/%y", 'R': "%H:%M", 'n': "\n", 't': "\t", 's': strconv.FormatInt(when.Unix(), 10),
			'e': fmt.Sprintf("%2d", when.Day()), 'j': fmt.Sprintf("%03d", when.YearDay()), '%': "%%",
		}
		var out []byte
		for i := 0; i < len(format); i++ {
			if format[i] == '%' && i+1 < len(format) {
				i++
				if known, ok := more[format[i]]; ok {
					out = append(out, known...)
				} else {
					out = append(out, '%', format[i])
				}
				continue
			}
			out = append(out, format[i])
		}
		L.SetTop(0)
		L.Push(lua.LString(out))
		L.Push(lua.LNumber(when.Unix()))
		return date(L)
	}
}

func (m *machine) print(L *lua.LState) int {
	var line []byte
	for i := 1; i <= L.GetTop(); i++ {
		if i > 1 {
			line = append(line, '\t')
		}
		line = append(line, m.shown(L.Get(i))...)
	}
	if _, err := m.options.Output.Write(append(line, '\n')); err != nil {
		L.RaiseError("cannot print: %s", reason(err))
	}
	return 0
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
