package script

import (
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// openWrk makes the global table wrk. s is the script of the machine's thread, nil for the common state.
func (m *machine) openWrk(s *Script) {
	o, L := m.options, m.state
	m.openThreads()
	m.wrk = L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"format":  m.wrkFormat,
		"init":    m.wrkInit,
		"setup":   m.wrkSetup,
		"lookup":  m.lookup,
		"connect": m.connect,
		"time_us": func(L *lua.LState) int {
			L.Push(lua.LNumber(time.Now().UnixMicro()))
			return 1
		},
	})
	m.wrk.RawSetString("scheme", lua.LString(o.Scheme))
	m.wrk.RawSetString("host", lua.LString(strings.Trim(o.Host, "[]")))
	if o.Port != "" {
		m.wrk.RawSetString("port", lua.LString(o.Port))
	}
	m.wrk.RawSetString("method", lua.LString("GET"))
	m.wrk.RawSetString("path", lua.LString(o.URLPath))
	m.wrk.RawSetString("headers", L.NewTable())
	addresses := L.NewTable()
	for _, address := range o.Addresses {
		addresses.Append(m.newAddress(address))
	}
	m.wrk.RawSetString("addrs", addresses)
	if s != nil {
		m.wrk.RawSetString("thread", m.newThread(s))
	}
	L.SetGlobal("wrk", m.wrk)
}

// arguments is init's table: the URL at 0, then the script's own arguments.
func (m *machine) arguments() *lua.LTable {
	o, table := m.options, m.state.NewTable()
	table.RawSetInt(0, lua.LString(o.Scheme+"://"+m.hostHeader()+o.URLPath))
	for i, argument := range o.Args {
		table.RawSetInt(i+1, lua.LString(argument))
	}
	return table
}

// hostHeader is wrk.host and wrk.port as a Host header holds them.
func (m *machine) hostHeader() string {
	host, _ := text(m.wrk.RawGetString("host"))
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port, ok := text(m.wrk.RawGetString("port")); ok {
		host += ":" + port
	}
	return host
}

// wrkSetup calls setup(thread) if the script has it.
func (m *machine) wrkSetup(L *lua.LState) int {
	if setup := m.hook("setup"); setup != nil {
		L.Push(setup)
		L.Push(L.Get(1))
		L.Call(1, 0)
	}
	return 0
}

// wrkInit sets the Host header, calls init(args) if the script has it, and prepares the request of a script without
// request(). Scripts for wrk before version 4 call it from their init.
func (m *machine) wrkInit(L *lua.LState) int {
	if headers, ok := m.wrk.RawGetString("headers").(*lua.LTable); ok && headers.RawGetString("Host") == lua.LNil {
		headers.RawSetString("Host", lua.LString(m.hostHeader()))
	}
	if m.within {
		return 0
	}
	m.within = true
	if init := m.hook("init"); init != nil {
		L.Push(init)
		L.Push(L.Get(1))
		L.Call(1, 0)
	}
	request := lua.LString(m.appendRequest(L, nil, lua.LNil, lua.LNil, lua.LNil, lua.LNil))
	m.wrk.RawSetString("request", L.NewFunction(func(L *lua.LState) int {
		L.Push(request)
		return 1
	}))
	return 0
}

// wrkFormat is wrk.format(method, path, headers, body): a request, with what is left out taken from wrk.
func (m *machine) wrkFormat(L *lua.LState) int {
	m.scratch = m.appendRequest(L, m.scratch[:0], L.Get(1), L.Get(2), L.Get(3), L.Get(4))
	return m.push(L, m.scratch)
}

func (m *machine) appendRequest(L *lua.LState, to []byte, method, path, headers, body lua.LValue) []byte {
	to = append(m.part(L, to, method, "method"), ' ')
	to = append(m.part(L, to, path, "path"), " HTTP/1.1\r\n"...)
	table := m.headers(L, headers)
	to = appendHeader(to, "Host", m.host(table))
	for key, value := table.Next(lua.LNil); key != lua.LNil; key, value = table.Next(key) {
		name, ok := text(key)
		if !ok {
			L.RaiseError("wrk.format: a header's name is a %s; give a string", key.Type())
		}
		if isHost(name) || len(name) == len("Content-Length") && strings.EqualFold(name, "Content-Length") {
			continue // the one is there, the other is what the body is
		}
		to = appendHeader(to, name, m.shown(value))
	}
	if lua.LVIsFalse(body) {
		body = m.wrk.RawGetString("body")
	}
	if lua.LVIsFalse(body) {
		return append(to, "\r\n"...)
	}
	content, ok := text(body)
	if !ok {
		L.RaiseError("wrk.format: body is a %s; give a string", body.Type())
	}
	to = append(to, "Content-Length: "...)
	to = append(appendNumber(to, float64(len(content))), "\r\n\r\n"...)
	return append(to, content...)
}

// part appends the request's method or path, wrk's if it is not given.
func (m *machine) part(L *lua.LState, to []byte, value lua.LValue, name string) []byte {
	if lua.LVIsFalse(value) {
		value = m.wrk.RawGetString(name)
	}
	to, ok := appendText(to, value)
	if !ok {
		L.RaiseError("wrk.format: %s is a %s; give a string", name, value.Type())
	}
	return to
}

func (m *machine) headers(L *lua.LState, value lua.LValue) *lua.LTable {
	if lua.LVIsFalse(value) {
		value = m.wrk.RawGetString("headers")
	}
	table, ok := value.(*lua.LTable)
	if !ok {
		L.RaiseError("wrk.format: headers is a %s; give a table", value.Type())
	}
	return table
}

func isHost(name string) bool { return len(name) == 4 && strings.EqualFold(name, "Host") }

// host is what the headers give as Host, else wrk.headers, else the URL.
func (m *machine) host(headers *lua.LTable) string {
	if host := headers.RawGetString("Host"); host != lua.LNil {
		return m.shown(host)
	}
	for key, value := headers.Next(lua.LNil); key != lua.LNil; key, value = headers.Next(key) {
		if name, _ := text(key); isHost(name) {
			return m.shown(value)
		}
	}
	if own, ok := m.wrk.RawGetString("headers").(*lua.LTable); ok {
		if host, ok := text(own.RawGetString("Host")); ok {
			return host
		}
	}
	return m.hostHeader()
}

func appendHeader(to []byte, name, value string) []byte {
	to = append(append(to, name...), ": "...)
	return append(append(to, value...), "\r\n"...)
}
