package script

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const (
	threadType  = "wrk.thread"
	addressType = "wrk.addr"
)

// openThreads makes the types of what setup(thread) and wrk.thread are, and of their addresses.
func (m *machine) openThreads() {
	L := m.state
	methods := L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"get":  m.threadGet,
		"set":  m.threadSet,
		"stop": threadStop,
	})
	thread := L.NewTypeMetatable(threadType)
	L.SetFuncs(thread, map[string]lua.LGFunction{
		"__index": func(L *lua.LState) int {
			if L.CheckString(2) == "addr" {
				L.Push(m.newAddress(checkThread(L).serverAddress()))
			} else {
				L.Push(methods.RawGet(L.Get(2)))
			}
			return 1
		},
		"__newindex": setThreadField,
	})
	L.SetFuncs(L.NewTypeMetatable(addressType), map[string]lua.LGFunction{
		"__tostring": func(L *lua.LState) int {
			L.Push(lua.LString(checkAddress(L, 1)))
			return 1
		},
	})
}

func (m *machine) newThread(s *Script) *lua.LUserData {
	thread := m.state.NewUserData()
	thread.Value = s
	thread.Metatable = m.state.GetTypeMetatable(threadType)
	return thread
}

func (m *machine) newAddress(address string) *lua.LUserData {
	data := m.state.NewUserData()
	data.Value = address
	data.Metatable = m.state.GetTypeMetatable(addressType)
	return data
}

func checkThread(L *lua.LState) *Script {
	s, ok := L.CheckUserData(1).Value.(*Script)
	if !ok {
		L.ArgError(1, "a thread expected; write thread:get(...) with a colon")
	}
	return s
}

func checkAddress(L *lua.LState, argument int) string {
	if data, ok := L.Get(argument).(*lua.LUserData); ok {
		if address, ok := data.Value.(string); ok {
			return address
		}
	}
	L.RaiseError("an address is one of those that wrk.lookup(host, port) gives, not %s", described(L.Get(argument)))
	return ""
}

// serverAddress is thread.addr: what the script chose, else the first address of the host.
func (s *Script) serverAddress() string {
	o := s.thread.options
	switch {
	case s.address != "":
		return s.address
	case len(o.Addresses) > 0:
		return o.Addresses[0]
	}
	port := o.Port
	switch {
	case port == "" && o.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(strings.Trim(o.Host, "[]"), port)
}

// setThreadField is thread.addr = address. Connections are spread over all addresses whatever a thread chooses, so it
// may choose one of them, and no other.
func setThreadField(L *lua.LState) int {
	s := checkThread(L)
	if name := L.CheckString(2); name != "addr" {
		L.RaiseError("cannot set %q on a thread; use thread:set(%q, ...)", name, name)
	}
	address := checkAddress(L, 3)
	if known := slices.Concat(s.thread.options.Addresses, []string{s.serverAddress()}); !slices.ContainsFunc(known, func(name string) bool {
		return name == address || slices.Contains(resolved(name), address)
	}) {
		L.RaiseError("thread.addr: %s is not loaded (that is %s); add it to the target's replicas", address, strings.Join(known, ", "))
	}
	s.address = address
	return 0
}

// resolved are the addresses that a host:port stands for.
func resolved(name string) []string {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	found, _ := net.DefaultResolver.LookupHost(ctx, host)
	for i, address := range found {
		found[i] = net.JoinHostPort(address, port)
	}
	return found
}

func (m *machine) threadGet(L *lua.LState) int {
	s := checkThread(L)
	L.Push(transfer(L, s.thread.state.GetGlobal(L.CheckString(2)), m.state, 0))
	return 1
}

func (m *machine) threadSet(L *lua.LState) int {
	s := checkThread(L)
	s.thread.state.SetGlobal(L.CheckString(2), transfer(L, L.Get(3), s.thread.state, 0))
	return 0
}

func threadStop(L *lua.LState) int {
	s := checkThread(L)
	if !s.running {
		L.RaiseError("thread:stop() can only be called while the thread runs")
	}
	s.stopped = true
	return 0
}

// transfer copies a value into another state.
func transfer(L *lua.LState, value lua.LValue, to *lua.LState, depth int) lua.LValue {
	switch v := value.(type) {
	case lua.LBool, lua.LNumber, lua.LString, *lua.LNilType:
		return v
	case *lua.LTable:
		if depth > 100 {
			L.RaiseError("cannot transfer a table that holds itself between threads")
		}
		copied := to.NewTable()
		for key, item := v.Next(lua.LNil); key != lua.LNil; key, item = v.Next(key) {
			copied.RawSet(transfer(L, key, to, depth+1), transfer(L, item, to, depth+1))
		}
		return copied
	}
	L.RaiseError("cannot transfer a %s between threads; only nil, booleans, numbers, strings and tables of them", value.Type())
	return lua.LNil
}

const lookupTime = 5 * time.Second

// lookup is wrk.lookup(host, service): all addresses.
func (m *machine) lookup(L *lua.LState) int {
	host := L.CheckString(1)
	service, _ := text(L.Get(2))
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		L.RaiseError("wrk.lookup: %q is not a port or a known service", service)
	}
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		L.RaiseError("wrk.lookup: %q cannot be resolved: %s", host, err.Error())
	}
	addresses := L.NewTable()
	for _, address := range found {
		addresses.Append(m.newAddress(net.JoinHostPort(address, string(appendNumber(nil, float64(port))))))
	}
	L.Push(addresses)
	return 1
}

// connect is wrk.connect(addr): whether something listens there.
func (m *machine) connect(L *lua.LState) int {
	connection, err := net.DialTimeout("tcp", checkAddress(L, 1), lookupTime)
	if err == nil {
		_ = connection.Close()
	}
	L.Push(lua.LBool(err == nil))
	return 1
}
