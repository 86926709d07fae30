package script

import (
	"io"
	"path/filepath"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// prelude is the part of the libraries that is simplest in Lua. coroutine.wrap is written anew so that its coroutines
// come from our coroutine.create.
const prelude = `
local create, resume = coroutine.create, coroutine.resume
local function check(ok, ...)
  if ok then return ... end
  error((...), 0)
end
function coroutine.wrap(f)
  local co = create(f)
  return function(...) return check(resume(co, ...)) end
end
function table.foreach(t, f)
  for k, v in pairs(t) do
    local r = f(k, v)
    if r ~= nil then return r end
  end
end
function table.foreachi(t, f)
  for i, v in ipairs(t) do
    local r = f(i, v)
    if r ~= nil then return r end
  end
end
`

// openModules is all that loads further Lua text, and the modules that are built in: socket and bit.
func (m *machine) openModules() {
	L := m.state
	create := m.original("coroutine", "create")
	m.set("coroutine", map[string]lua.LGFunction{"create": func(L *lua.LState) int {
		results := create(L)
		L.Get(-1).(*lua.LState).SetContext(&m.watch) // its own would never end it
		return results
	}})
	m.set("_G", map[string]lua.LGFunction{
		"loadstring": func(L *lua.LState) int { return m.loaded(L, L.CheckString(1), L.OptString(2, "<string>")) },
		"load":       m.load,
		"loadfile":   m.loadFile,
		"dofile": func(L *lua.LState) int {
			before := L.GetTop()
			if m.loadFile(L) == 2 {
				L.RaiseError("%s", L.CheckString(-1))
			}
			L.Call(0, lua.MultRet)
			return L.GetTop() - before
		},
	})
	m.set("package", map[string]lua.LGFunction{"loadlib": unavailable("package.loadlib", "modules written in C cannot be loaded")})
	packages := L.GetGlobal("package").(*lua.LTable)
	packages.RawGetString("loaders").(*lua.LTable).RawSetInt(2, L.NewFunction(m.search))
	packages.RawSetString("path", lua.LString(m.searchPath()))
	L.PreloadModule("socket", func(L *lua.LState) int {
		socket := L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
			"gettime": func(L *lua.LState) int {
				L.Push(lua.LNumber(now()))
				return 1
			},
			"sleep": func(*lua.LState) int { return 0 },
		})
		L.SetGlobal("socket", socket) // as LuaSocket does: scripts say only `require "socket"`
		L.Push(socket)
		return 1
	})
	bits := L.SetFuncs(L.NewTable(), bitFunctions)
	L.SetGlobal("bit", bits)
	L.PreloadModule("bit", func(L *lua.LState) int {
		L.Push(bits)
		return 1
	})
	program, err := m.compile(prelude, "prelude")
	if err == nil {
		err = m.state.CallByParam(lua.P{Fn: m.function(program), Protect: true})
	}
	if err != nil {
		panic(err)
	}
	m.chunks = nil // no error is the prelude's
}

// searchPath is package.path: beside the script, LUA_PATH of the plan, and where distributions keep modules.
func (m *machine) searchPath() string {
	path := []string{filepath.Join(m.folder(), "?.lua"), filepath.Join(m.folder(), "?", "init.lua")}
	if own := m.options.Env["LUA_PATH"]; own != "" {
		path = append(path, strings.Trim(strings.ReplaceAll(own, ";;", ";"), ";"))
	}
	for _, folder := range library {
		path = append(path, filepath.Join(folder, "?.lua"), filepath.Join(folder, "?", "init.lua"))
	}
	return strings.Join(path, ";")
}

// search is the loader of modules that are files.
func (m *machine) search(L *lua.LState) int {
	name := L.CheckString(1)
	path, _ := text(L.GetGlobal("package").(*lua.LTable).RawGetString("path"))
	for pattern := range strings.SplitSeq(path, ";") {
		file := strings.ReplaceAll(pattern, "?", strings.ReplaceAll(name, ".", "/"))
		if source, err := m.readModule(file); err == nil {
			program, err := m.compile(source, file)
			if err != nil {
				L.RaiseError("module %q: %s", name, err.Error())
			}
			L.Push(m.function(program))
			return 1
		}
	}
	L.RaiseError("module %q is not found: put %s.lua into the script's folder (%s), or name its folder in package.path or LUA_PATH;"+
		" modules written in C cannot be loaded", name, strings.ReplaceAll(name, ".", "/"), filepath.Dir(m.options.Path))
	return 0
}

// loaded gives a text's function to Lua, or nil and why not.
func (m *machine) loaded(L *lua.LState, source, name string) int {
	program, err := m.compile(source, strings.TrimPrefix(strings.TrimPrefix(name, "@"), "="))
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	L.Push(m.function(program))
	return 1
}

// load is load(f, name): f is a text (LuaJIT) or gives it piece by piece.
func (m *machine) load(L *lua.LState) int {
	name := L.OptString(2, "<load>")
	if source, ok := text(L.Get(1)); ok {
		return m.loaded(L, source, name)
	}
	var source []byte
	for {
		L.Push(L.CheckFunction(1))
		L.Call(0, 1)
		piece, _ := text(L.Get(-1))
		L.Pop(1)
		if piece == "" {
			return m.loaded(L, string(source), name)
		}
		source = append(source, piece...)
		m.made(L, len(source))
	}
}

func (m *machine) loadFile(L *lua.LState) int {
	path := L.CheckString(1)
	file, err := m.readFile(path)
	var source []byte
	if err == nil {
		source, err = io.ReadAll(io.LimitReader(file, maxSource))
		_ = file.Close()
	}
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString("cannot open " + path + ": " + reason(err)))
		return 2
	}
	return m.loaded(L, string(source), file.Name())
}
