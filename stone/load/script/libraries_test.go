package script

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// printed runs a script and returns what it printed.
func printed(t testing.TB, o Options, source string) string {
	t.Helper()
	var out bytes.Buffer
	o.Output = &out
	from(t, o, source)
	return out.String()
}

// The expectations are what LuaJIT 2.1 prints.
func TestLibrariesAnswerAsLuaJITDoes(t *testing.T) {
	for expression, want := range map[string]string{
		// Numbers become text by "%.14g", wherever they do.
		`0.1 + 0.2`:                              "0.3",
		`"x=" .. 0.1 + 0.2`:                      "x=0.3",
		`tostring(38.0235 + 227.5/1000)`:         "38.251",
		`1e14 .. " " .. 1e13`:                    "1e+14 10000000000000",
		`2^53 .. ""`:                             "9.007199254741e+15",
		`-0.0 .. ""`:                             "-0",
		`(1/0) .. " " .. -(1/0)`:                 "inf -inf",
		`1 .. 2`:                                 "12",
		`table.concat({1, 2.5, "x"}, ",")`:       "1,2.5,x",
		`os.time() - os.time() % 1 == os.time()`: "true",
		// Joining.
		`"a" .. ("b" .. "c") .. (function() return "d", "e" end)()`: "abcd",
		`(function(...) return "a" .. ... end)("b", "c")`:           "ab",
		`"n" .. #"abc" .. -1 .. tostring(not true)`:                 "n3-1false",
		// string.format follows C.
		`string.format("%5.1f|%-5s|%05d|%+d|% d", 2.25, "a", 42, 7, 7)`:          "  2.2|a    |00042|+7| 7",
		`string.format("%x %X %o %#x %08x", 255, 255, 8, 255, 48879)`:            "ff FF 10 0xff 0000beef",
		`string.format("%x", -1)`:                                                "ffffffffffffffff",
		`string.format("%g %g %g %.3g %G", 0.1, 1e20, 100000, 1/3, 1e-5)`:        "0.1 1e+20 100000 0.333 1E-05",
		`string.format("%e %.0e", 12345.678, 12345)`:                             "1.234568e+04 1e+04",
		`string.format("%f %.2f %10.3f|", 1/3, 2.345, -1)`:                       "0.333333 2.35     -1.000|",
		`string.format("%f %5.1f|%d", 1/0, -1/0, 3.99)`:                          "inf  -inf|3",
		`string.format("%s %s %s %10.2s|%-4s|", nil, true, 0.1+0.2, "abc", "é")`: "nil true 0.3         ab|é  |",
		`string.format("%q", 'a"b\\c\n')`:                                        "\"a\\\"b\\\\c\\\n\"",
		`string.format("%c%c%%", 72, 105)`:                                       "Hi%",
		`string.format("%i %u", 5, 6)`:                                           "5 6",
		`("%d-%s"):format("7", 8)`:                                               "7-8",
		`string.format("%g%%,%d", 99.999, 1234.5)`:                               "99.999%,1234",
		// The rest of string.
		`("ÄbC"):upper() .. ("ÄbC"):lower()`:                                                   "ÄBCÄbc",
		`select("#", ("abc"):byte()) .. ("abc"):byte(-1)`:                                      "199",
		`table.concat({("abc"):byte(1, -1)}, " ")`:                                             "97 98 99",
		`select("#", ("abc"):byte(10))`:                                                        "0",
		`("ab"):rep(3) .. ("x"):rep(-1) .. (""):rep(1e9)`:                                      "ababab",
		`tostring(("a,b"):find(",", 9, true))`:                                                 "nil",
		`("a.b"):find(".", 1, true)`:                                                           "2\t2",
		`("hello world"):gsub("o", "0")`:                                                       "hell0 w0rld\t2",
		`("hello"):gsub("", "-")`:                                                              "-h-e-l-l-o-\t6",
		`("abc"):gsub("%w", "%0%0", 2)`:                                                        "aabbc\t2",
		`("x y"):gsub("(%w) (%w)", "%2 %1 %%")`:                                                "y x %\t1",
		`("abc"):gsub("b", {b = 1.5}) .. ("abc"):gsub("b", {c = 1})`:                           "a1.5cabc",
		`("a&b c"):gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end)`:          "a%26b%20c\t2",
		`("abc"):gsub("b", function() end)`:                                                    "abc\t1",
		`("abc"):gsub("()b", "%1")`:                                                            "a2c\t1",
		`("abc"):gsub("b", "x", 0)`:                                                            "abc\t0",
		`("k=v"):match("(%w)=(%w)")`:                                                           "k\tv",
		`('a"b\n\0c'):gsub('[%z\1-\31\\"]', function(c) return ("<%d>"):format(c:byte()) end)`: "a<34>b<10><0>c\t3",
		`("f(a(b)c)d"):match("%b()") .. ("THE (quick) fox"):find("%f[%a]%a+%f[%A]")`:           "(a(b)c)1",
		`("key = value"):match("^(%w+)%s*=%s*(%w+)$")`:                                         "key\tvalue",
		`("aab"):match("a-()b")`:                                                               "3",
		`("aaab"):match("a*(a)(b)")`:                                                           "a\tb",
		`("http://h:80/p?q"):match("^(%a+)://([^/:]+):?(%d*)(/?.*)$")`:                         "http\th\t80\t/p?q",
		`("2015-04-09"):gsub("(%d+)-(%d+)-(%d+)", "%3.%2.%1")`:                                 "09.04.2015\t1",
		`("  trim "):gsub("^%s*(.-)%s*$", "[%1]")`:                                             "[trim]\t1",
		`("a,b,,c"):gsub("([^,]*)", "<%1>")`:                                                   "<a><>,<b><>,<>,<c><>\t7",
		`(function() local t = {} for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do t[#t+1] = k .. v end return table.concat(t) end)()`: "a1b2",
		`("x"):rep(3, ","):len() .. ("abc"):reverse():sub(-2) .. ("%d"):gsub("%%d", "%%s")`:                                             "3ba%s",
		// bit is LuaJIT's.
		`bit.band(0xff, 0x0f, 0x3) .. " " .. bit.bor(1, 2, 4) .. " " .. bit.bxor(5, 1)`:  "3 7 4",
		`bit.bnot(0) .. " " .. bit.lshift(1, 31) .. " " .. bit.rshift(-1, 28)`:           "-1 -2147483648 15",
		`bit.arshift(-256, 4) .. " " .. bit.rol(0x12345678, 12) .. " " .. bit.ror(1, 1)`: "-16 1164411171 -2147483648",
		`bit.tohex(-1) .. bit.tohex(0xabc, 4) .. bit.tohex(255, -2)`:                     "ffffffff0abcFF",
		`bit.tobit(0xffffffff) .. " " .. bit.tobit(2^40 + 5) .. " " .. bit.bswap(1)`:     "-1 5 16777216",
		`require("bit") == bit`: "true",
		// What LuaJIT has of Lua 5.1 and beyond.
		`"\x41\x0a" == "A\n" and [[\x41]] == "\\x41"`:                                      "true",
		`unpack({1, 2, 3})`:                                                                "1\t2\t3",
		`table.getn({1, 2})`:                                                               "2",
		`table.foreach({a = 1}, function(k, v) return k .. v end)`:                         "a1",
		`table.foreachi({7}, function(i, v) return i + v end)`:                             "8",
		`loadstring("return 1 .. 2")()`:                                                    "12",
		`load("return ...")("x")`:                                                          "x",
		`select(2, loadstring("x =", "=chunk"))`:                                           "chunk:1: syntax error: the script ends too early (an `end`, a bracket or a quote is missing)",
		`coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end)(1)`: "2",
		`pcall(coroutine.wrap(function() error("x", 0) end))`:                              "false\tx",
		`type(debug.getinfo(1).source) .. debug.getinfo(1, "S").source`:                    "string@test.lua",
		`type(collectgarbage("count")) .. collectgarbage()`:                                "number0",
		`tonumber("1e3") .. tonumber(" 0x1F\r\n") .. tonumber("-.5") .. tonumber("ff", 16) .. tonumber("010") .. tonumber(7)`:                     "100031-0.5255107",
		`tostring(tonumber("nan")) .. tostring(tonumber("1_0")) .. tostring(tonumber("")) .. tostring(tonumber("--1")) .. tostring(tonumber({}))`: "nilnilnilnilnil",
		`tonumber("-0x10") + tonumber("12", 10)`:                            "-4",
		`os.date("!%Y-%m-%d %T|%D|%R|%e|%j|%s|100%%", 86400 * 31)`:          "1970-02-01 00:00:00|02/01/70|00:00| 1|032|2678400|100%",
		`os.date("!*t", 0).year .. os.date("!%H", 3600)`:                    "197001",
		`io.type(io.stdout) .. tostring(io.type(1)) .. tostring(io.stdout)`: "filenilfile",
		`tostring(io.stdin) .. tostring(os.setenv)`:                         "nilnil",
	} {
		if got := printed(t, Options{}, "print("+expression+")"); got != want+"\n" {
			t.Errorf("print(%s): %q, want %q", expression, got, want+"\n")
		}
	}
}

func TestMetamethodsOfJoining(t *testing.T) {
	got := printed(t, Options{}, `
local v = setmetatable({}, {__concat = function(a, b)
  return (type(a) == "table" and "T" or a) .. "+" .. (type(b) == "table" and "T" or b)
end})
print("a" .. v, v .. "b", "a" .. v .. 1 .. "c", v .. v)`)
	if want := "a+T\tT+b\taT+1c\tT+T\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestALongChainIsJoinedInOrder(t *testing.T) {
	var chain, want strings.Builder
	chain.WriteString("local x = 'x' print('<'")
	want.WriteString("<")
	for range 1234 {
		chain.WriteString(" .. x .. 1")
		want.WriteString("x1")
	}
	chain.WriteString(")")
	if got := printed(t, Options{}, chain.String()); got != want.String()+"\n" {
		t.Errorf("%d bytes, want %d", len(got), want.Len()+1)
	}
}

func TestSocketIsThere(t *testing.T) {
	before := time.Now().Add(-time.Second).Unix()
	got := printed(t, Options{}, `
require "socket"
local s = require("socket")
socket.sleep(1000000)
print(s == socket, s.gettime() > `+string(appendNumber(nil, float64(before)))+`, s.gettime() < os.time() + 2)`)
	if got != "true\ttrue\ttrue\n" {
		t.Errorf("%q", got)
	}
}

func TestTheEnvironmentIsThePlans(t *testing.T) {
	t.Setenv("SCRIPT_A", "process")
	t.Setenv("SCRIPT_B", "process")
	got := printed(t, Options{Env: map[string]string{"SCRIPT_A": "plan", "SCRIPT_EMPTY": ""}},
		`print(os.getenv("SCRIPT_A"), os.getenv("SCRIPT_B"), os.getenv("SCRIPT_EMPTY"), os.getenv("SCRIPT_NONE"))`)
	if got != "plan\tnil\t\tnil\n" {
		t.Errorf("%q", got)
	}
}

func TestPrintingGoesToOutput(t *testing.T) {
	got := printed(t, Options{}, `
print("a", 1, nil) print()
io.write("b", 2.5, "\n")
io.stdout:write("c"):write("d\n")
io.stderr:write("e\n") io.stderr:flush() io.stdout:setvbuf("no")`)
	if want := "a\t1\tnil\n\nb2.5\ncd\ne\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// folder writes files and returns the path of the one called main.lua.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "main.lua")
}

func TestModulesAreFoundAndRunOnce(t *testing.T) {
	path := folder(t, map[string]string{
		"main.lua": `
package.path = package.path .. ";" .. debug.getinfo(1).source:match("@?(.*/)") .. "lib/?.lua"
local json, deep, pack = require("json"), require "sub.deep", require("pack")
print(json.name .. 1, require("json") == json, deep, pack.x, require("inlib"), require("fromenv"))`,
		"json.lua":        `loads = (loads or 0) + 1 return {name = "json" .. loads}`,
		"sub/deep.lua":    `return ...`,
		"pack/init.lua":   `module("pack") x = 5`,
		"lib/inlib.lua":   `return "inlib"`,
		"env/fromenv.lua": `return "fromenv"`,
	})
	var out bytes.Buffer
	opened(t, Options{Path: path, Output: &out, Env: map[string]string{"LUA_PATH": filepath.Dir(path) + "/env/?.lua;;"}})
	if got, want := out.String(), "json11\ttrue\tsub.deep\t5\tinlib\tfromenv\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLargeTablesFitTheStack(t *testing.T) {
	got := printed(t, Options{}, `
local t = {} for i = 1, 100000 do t[i] = "x" end
print(#table.concat(t, ","), select("#", unpack(t)))
local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
print(deep(8000))`)
	if got != "199999\t100000\n8000\n" {
		t.Errorf("%q", got)
	}
}
