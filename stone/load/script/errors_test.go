package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each script goes wrong in its own way; what is expected is the whole message.
func TestErrorsNameThePlace(t *testing.T) {
	run := func(o Options, source string) error {
		s, err := try(t, o, source)
		if err != nil {
			return err
		}
		if _, _, _, err := s.Next(nil); err != nil {
			return err
		}
		if err := s.Response(200, nil, []byte("{}")); err != nil {
			return err
		}
		return s.Done(Summary{}, nil, nil)
	}
	for source, want := range map[string]string{
		// The text.
		"x = 1\ny = = 2":             `test.lua:2: syntax error near "="`,
		"function f()\n  return 1\n": `test.lua:3: syntax error: the script ends too early (an ` + "`end`" + `, a bracket or a quote is missing)`,
		"\n\nx = 'abc":               `test.lua:3: syntax error: the script ends too early (an ` + "`end`" + `, a bracket or a quote is missing)`,
		"goto nowhere":               `test.lua:1: no visible label 'nowhere' for <goto> at line 1`,
		// Running the file.
		"local x\nlocal y = x.z":                           `test.lua:2: attempt to index a non-table object(nil) with key 'z'`,
		"\nnothing()":                                      `test.lua:2: attempt to call a non-function object`,
		"x = 1\nx = x .. nil .. 'a'":                       `test.lua:2: attempt to concatenate a nil value (part 2 of 3 that .. joins)`,
		"error('mine')":                                    `test.lua:1: mine`,
		"error('mine', 0)":                                 `test.lua:1: mine`,
		"error({})":                                        `test.lua:1: the error is a table`,
		"\nstring.format('%d', 'x')":                       `test.lua:2: bad argument #2 to format (number expected, got string)`,
		"string.format('%y', 1)":                           `test.lua:1: string.format: invalid option %y`,
		"string.format('100%')":                            `test.lua:1: string.format: the format ends within %`,
		"('x'):rep(2^40)":                                  `test.lua:1: a string of more than 256 MiB`,
		"('x'):gsub('x', '%2')":                            `test.lua:1: invalid capture index %2`,
		"('x'):gsub('x', {x = {}})":                        `test.lua:1: invalid replacement value (a table)`,
		"table.concat({1, {}, 3})":                         `test.lua:1: invalid value (table) at index 2 in table for 'concat'`,
		"local f = loadstring('x = = 1', 'inner')\nf()":    `test.lua:2: attempt to call a non-function object`,
		"local f = loadstring('\\nx.y = 1', 'inner')\nf()": `inner:2: attempt to index a non-table object(nil) with key 'y'`,
		"local function f() return 1 + f() end\nf()":       `test.lua:1: lua callstack overflow`,
		// What is not there.
		"local json = require 'cjson'":               `test.lua:1: module "cjson" is not found: put cjson.lua into the script's folder (.), or name its folder in package.path or LUA_PATH; modules written in C cannot be loaded`,
		"\nrequire('nowhere.http')":                  `test.lua:2: module "nowhere.http" is not found: put nowhere/http.lua into the script's folder (.), or name its folder in package.path or LUA_PATH; modules written in C cannot be loaded`,
		"for l in io.lines('nix') do end":            `test.lua:1: io.lines: cannot read nix: no such file or directory`,
		"assert(io.open('nix'))":                     `test.lua:1: nix: no such file or directory`,
		"dofile('nix.lua')":                          `test.lua:1: cannot open nix.lua: no such file or directory`,
		"os.exit(1)":                                 `test.lua:1: os.exit is not available in a load script: wrk.thread:stop() ends a thread's load, error(...) the run`,
		"os.execute('ls')":                           `test.lua:1: os.execute is not available in a load script: prepare what the script needs before the load starts`,
		"io.popen('ls')":                             `test.lua:1: io.popen is not available in a load script: prepare a file before the load starts and read it with io.open`,
		"io.read()":                                  `test.lua:1: io.read is not available in a load script: read files with io.open or io.lines`,
		"wrk.lookup('127.0.0.1', 'no-such-service')": `test.lua:1: wrk.lookup: "no-such-service" is not a port or a known service`,
		// The hooks.
		"function setup(thread)\n  thread.x = 1 end":                         `test.lua:2: in setup(): cannot set "x" on a thread; use thread:set("x", ...)`,
		"function setup(thread) thread:stop() end":                           `test.lua:1: in setup(): thread:stop() can only be called while the thread runs`,
		"function setup(thread) thread:set('f', print) end":                  `test.lua:1: in setup(): cannot transfer a function between threads; only nil, booleans, numbers, strings and tables of them`,
		"function setup(thread) local t = {} t.t = t thread:set('t', t) end": `test.lua:1: in setup(): cannot transfer a table that holds itself between threads`,
		"function setup(thread) thread.addr = 'localhost' end":               `test.lua:1: in setup(): an address is one of those that wrk.lookup(host, port) gives, not a string localhost`,
		"function init(args)\n  local n = args[1] + 1 end":                   `test.lua:2: in init(): cannot perform add operation between nil and number`,
		"wrk.body = {}":                                                                    `test.lua: in init(): wrk.format: body is a table; give a string`,
		"function delay()\n  return x.y end":                                               `test.lua:2: in delay(): attempt to index a non-table object(nil) with key 'y'`,
		"\nfunction delay() return -1 end":                                                 `test.lua:2: delay() returned a number -1; give milliseconds, 0 to 86400000`,
		"function delay() return 0/0 end":                                                  `test.lua:1: delay() returned a number nan; give milliseconds, 0 to 86400000`,
		"function delay() return 'soon' end":                                               `test.lua:1: delay() returned a string soon; give milliseconds, 0 to 86400000`,
		"function request()\n  return wrk.format({}) end":                                  `test.lua:2: in request(): wrk.format: method is a table; give a string`,
		"function request() return wrk.format(nil, true) end":                              `test.lua:1: in request(): wrk.format: path is a boolean; give a string`,
		"function request() return wrk.format(nil, nil, 'X: y') end":                       `test.lua:1: in request(): wrk.format: headers is a string; give a table`,
		"function request() return wrk.format(nil, nil, nil, {}) end":                      `test.lua:1: in request(): wrk.format: body is a table; give a string`,
		"\n\nfunction request() end":                                                       `test.lua:3: request() returned nil; return a string, such as wrk.format() makes`,
		"function request() return {} end":                                                 `test.lua:1: request() returned a table; return a string, such as wrk.format() makes`,
		"function request() return '' end":                                                 `test.lua:1: request() returned an empty string; return a request, such as wrk.format() makes`,
		"function request() return 'GET /' end":                                            `test.lua:1: request() returned what is no HTTP request: "GET /" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`,
		"wrk.path = '/a b'":                                                                `test.lua: request() returned what is no HTTP request: "GET /a b HTTP/1.1" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`,
		"function response(status, headers, body)\n\n  error('bad answer: ' .. body) end":  `test.lua:3: in response(): bad answer: {}`,
		"function response() wrk.thread.addr = wrk.lookup('127.0.0.1', 1)[1] end":          `test.lua:1: in response(): thread.addr: 127.0.0.1:1 is not loaded (that is localhost:8080); add it to the target's replicas`,
		"function done(summary, latency, requests)\n  print(summary.errors.nothing.x) end": `test.lua:2: in done(): attempt to index a non-table object(nil) with key 'x'`,
	} {
		err := run(Options{}, source)
		var placed *Error
		if !errors.As(err, &placed) || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", source, err, want)
		}
	}
}

func TestTheSecondOfSeveralRequestsIsCheckedToo(t *testing.T) {
	s := from(t, Options{}, "\nfunction request() return wrk.format('POST', '/') .. 'a=1' end")
	next(t, s)
	_, _, _, err := s.Next(nil)
	want := `test.lua:2: request() returned a request and then something that is none (a body needs Content-Length): ` +
		`"a=1" is no request line; it should be METHOD PATH HTTP/1.1, with spaces in the path as %20`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestErrorsOfModulesNameTheModule(t *testing.T) {
	path := folder(t, map[string]string{
		"main.lua":   "local m = require 'helper'\nfunction request() return m.make() end",
		"helper.lua": "local m = {}\nfunction m.make()\n  return wrk.format(nil, nothing.here) end\nreturn m",
		"wrong.lua":  "require 'broken'",
		"broken.lua": "\nx = = 1",
	})
	dir := filepath.Dir(path)
	_, _, _, err := opened(t, Options{Path: path}).Next(nil)
	if want := dir + "/helper.lua:3: in request(): attempt to index a non-table object(nil) with key 'here'"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = Open(filled(Options{Path: dir + "/wrong.lua"}))
	if want := dir + `/wrong.lua:1: module "broken": ` + dir + `/broken.lua:2: syntax error near "="`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The compiler recurses: texts that nest deeper than any script are refused, and do not end the program.
func TestNestingIsBounded(t *testing.T) {
	const deep = 200_000
	for opening, closing := range map[string]string{
		"not ": "1", "- ": "1", "{": strings.Repeat("}", deep), "1 + (": "1" + strings.Repeat(")", deep),
		"f(": strings.Repeat(")", deep), "function() return ": "1" + strings.Repeat(" end", deep), "a == ": "a", "a and ": "a",
	} {
		_, err := try(t, Options{}, "x = "+strings.Repeat(opening, deep)+closing)
		if want := "test.lua:1: nested more than 10000 levels deep"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", opening, err, want)
		}
	}
}

func TestAScriptThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(Options{Path: dir + "/none.lua"})
	if want := dir + "/none.lua: cannot read the script: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = Open(Options{Path: dir})
	if want := dir + ": cannot read the script: is a directory"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	large := filepath.Join(dir, "large.lua")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxSource+1); err != nil {
		t.Fatal(err)
	}
	_, err = Open(Options{Path: large})
	if want := large + ": larger than 16 MiB; keep data in a file of its own and read it with io.open"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A call that does not end is ended, wherever it hangs and whatever it catches.
func TestEndlessLoopsEnd(t *testing.T) {
	const brief = 30 * time.Millisecond
	for source, want := range map[string]string{
		"local x = 1\nwhile true do end":                                                                               "test.lua:2: loading the script ran for more than 0.03 s",
		"function init()\n\n  repeat until false end":                                                                  "test.lua:3: init() ran for more than 0.03 s",
		"function setup() for i = 1, 1/0 do end end":                                                                   "test.lua:1: setup() ran for more than 0.03 s",
		"local function f() return f() end\nfunction init() f() end":                                                   "test.lua:1: init() ran for more than 0.03 s",
		"while true do pcall(function()\nwhile true do end end) end":                                                   "test.lua:2: loading the script ran for more than 0.03 s",
		"local f = coroutine.wrap(function()\nwhile true do end end)\nf()":                                             "test.lua:3: loading the script ran for more than 0.03 s",
		"local t = setmetatable({}, {__index = function() while true do end end})\nfunction init() t() print(t.x) end": "test.lua:2: in init(): attempt to call a non-function object",
		"table.sort({3, 2, 1}, function()\nwhile true do end end)":                                                     "test.lua:2: loading the script ran for more than 0.03 s",
		"('x'):gsub('x', function()\nwhile true do end end)":                                                           "test.lua:2: loading the script ran for more than 0.03 s",
		"load(function() return 'x = 1 ' end)":                                                                         "test.lua:1: loading the script ran for more than 0.03 s",
	} {
		_, err := try(t, Options{deadline: brief}, source)
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", source, err, want)
		}
	}
	hook := "function %s() while true do end end"
	for name, call := range map[string]func(*Script) error{
		"delay":    func(s *Script) error { _, _, _, err := s.Next(nil); return err },
		"request":  func(s *Script) error { _, _, _, err := s.Next(nil); return err },
		"response": func(s *Script) error { return s.Response(200, nil, nil) },
		"done":     func(s *Script) error { return s.Done(Summary{}, nil, nil) },
	} {
		s := from(t, Options{deadline: brief}, fmt.Sprintf(hook, name))
		want := "test.lua:1: " + name + "() ran for more than 0.03 s"
		for range 2 { // the state is usable after it
			if err := call(s); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for source, want := range map[string]string{
		"local t = {}\nwhile true do t[#t+1] = ('x'):rep(2^20) end": "test.lua:2: loading the script needs more than 64 MiB of memory",
		"local s = 'x'\nwhile true do s = s .. s end":               "test.lua:2: a string of more than 256 MiB",
	} {
		_, err := try(t, Options{deadline: time.Hour, memory: 64 << 20}, source)
		if err == nil || err.Error() != want && err.Error() != "test.lua:2: loading the script needs more than 64 MiB of memory" {
			t.Errorf("%s:\n%v, want\n%s", source, err, want)
		}
	}
}

// What is allowed stays allowed: garbage is not counted.
func TestGarbageIsNotMemory(t *testing.T) {
	from(t, Options{memory: 64 << 20}, "for i = 1, 400 do local s = ('x'):rep(2^20) end")
}
