package script

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// machine is one Lua state with the libraries that load scripts expect, and what its functions need.
type machine struct {
	state   *lua.LState
	options *Options
	watch   watch
	random  random
	chunks  []string // names of the texts compiled here, as they stand in messages
	wrk     *lua.LTable
	files   *lua.LTable // the metatable of files
	within  bool        // init() runs
	scratch []byte      // for functions that call nothing in Lua while they use it
}

const (
	maxCalls  = 8192    // depth of functions within functions
	maxValues = 1 << 20 // on the stack: unpack() of a large table needs them
)

// newMachine makes a state; stream tells its random numbers from those of the run's other states.
func newMachine(o *Options, stream uint64) *machine {
	m := &machine{options: o, random: newRandom(o.Seed, stream)}
	m.watch = watch{limit: o.deadline, memory: o.memory}
	m.state = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: maxCalls, MinimizeStackMemory: true,
		RegistrySize: 1024, RegistryGrowStep: 4096, RegistryMaxSize: maxValues,
	})
	for _, library := range []lua.LGFunction{
		lua.OpenPackage, lua.OpenBase, lua.OpenTable, lua.OpenOs, lua.OpenString, lua.OpenMath, lua.OpenDebug,
		lua.OpenCoroutine,
	} {
		m.state.Push(m.state.NewFunction(library))
		m.state.Call(0, 0)
	}
	m.openNumbers()
	m.openStrings()
	m.openRandom()
	m.openSystem()
	m.openFiles()
	m.openModules()
	m.state.SetContext(&m.watch)
	return m
}

// set adds functions to a library, "_G" for the global ones.
func (m *machine) set(library string, functions map[string]lua.LGFunction) {
	table := m.state.GetGlobal(library).(*lua.LTable)
	for name, function := range functions {
		table.RawSetString(name, m.state.NewFunction(function))
	}
}

// original is the Go function behind a library function, to be called in place of the one that set replaces it with.
func (m *machine) original(library, name string) lua.LGFunction {
	return m.state.GetGlobal(library).(*lua.LTable).RawGetString(name).(*lua.LFunction).GFunction
}

// function makes a program's function; it is the text that the program was compiled from.
func (m *machine) function(program *lua.FunctionProto) *lua.LFunction {
	if name := program.SourceName; !slices.Contains(m.chunks, name) {
		m.chunks = append(m.chunks, name)
	}
	m.state.Push(m.state.NewFunctionFromProto(program))
	m.state.Push(m.state.NewFunction(m.join))
	m.state.Call(1, 1)
	function := m.state.Get(-1).(*lua.LFunction)
	m.state.Pop(1)
	return function
}

// run executes a script's file.
func (m *machine) run(program *lua.FunctionProto) error {
	m.watch.begin()
	return m.call("", m.function(program), 0)
}

// hook is the script's global function of this name, nil if it has none.
func (m *machine) hook(name string) *lua.LFunction {
	function, _ := m.state.GetGlobal(name).(*lua.LFunction)
	return function
}

// call runs a function for a hook, leaving its results on the stack. A function that is none is Lua's error.
func (m *machine) call(hook string, function lua.LValue, results int, arguments ...lua.LValue) error {
	m.watch.begin()
	err := m.state.CallByParam(lua.P{Fn: function, NRet: results, Protect: true}, arguments...)
	if err != nil {
		return m.explain(hook, err)
	}
	return nil
}
