package script

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesAreFoundBesideTheScript(t *testing.T) {
	path := folder(t, map[string]string{
		"main.lua": `
local f = assert(io.open("data/users.txt"))
print(f:read("*a")) f:close()
for line in io.lines("data/users.txt") do io.write("<", line, ">") end
print(io.open("data/none.txt") == nil, dofile("more.lua"), loadfile("none.lua") == nil)`,
		"data/users.txt": "ann\nbob",
		"more.lua":       `return "more" .. 1, 2`,
	})
	var out bytes.Buffer
	opened(t, Options{Path: path, Output: &out})
	if got, want := out.String(), "ann\nbob\n<ann><bob>true\tmore1\ttrue\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReadingFiles(t *testing.T) {
	long := strings.Repeat("x", 10_000) // more than one buffer
	path := folder(t, map[string]string{
		"main.lua": `
local f = io.open("data.txt", "rb")
print(f:read("*line"), f:read(), f:read("*number", "l"))
print(#f:read("*l"), f:read(3), f:read(0), f:read(100), f:read(0), f:read("*l"))
print(f:seek("set", 1), f:read(2), f:seek(), f:seek("end"), #f:read("*all"))
print(io.type(f), f:close(), io.type(f), tostring(f), select(2, f:read()), select(2, io.close(f)))
for line in io.lines("data.txt") do io.write(#line, " ") end print()
f = io.open("data.txt")
for line in f:lines() do io.write(#line, " ") end print(f:read("*a") == "", f:read("*n"))
print(io.open("none.txt"))
print(pcall(io.open, "data.txt", "x"))
print(select(2, io.open("data.txt"):read("*x")))`,
		"data.txt": "one\n\n 12.5 rest\n" + long + "\nabcdef",
	})
	var out bytes.Buffer
	opened(t, Options{Path: path, Output: &out})
	want := "one\t\t12.5\t rest\n10000\tabc\t\tdef\tnil\tnil\n1\tne\t3\t10023\t0\n" +
		"file\ttrue\tclosed file\tfile (closed)\tthe file is closed\tthe file is closed\t0\n" +
		"3 0 10 10000 6 \n3 0 10 10000 6 true\tnil\n" +
		"nil\tnone.txt: no such file or directory\t2\n" +
		"false\tmain.lua:11: io.open: \"x\" is no mode; give r, w, a, r+, w+ or a+\n" +
		"\"x\" is no format of read (*a, *l, *n or a number of bytes)\t0\n"
	if got := strings.ReplaceAll(out.String(), path, "main.lua"); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func TestScriptsMayWriteFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	got := printed(t, Options{Env: map[string]string{"OUT": path}, Results: filepath.Dir(path)}, `
local name = os.getenv("OUT")
for _, mode in ipairs({"w", "a+"}) do
  local f = io.open(name, mode)
  f:write("p99,", 0.1 + 0.2, "\n"):write("x\n") f:flush() f:setvbuf("line") f:close()
end
local f = io.open(name, "r+")
print(f:read())
f:write("Y") f:close()
print(pcall(f.write, f, {}))
print(io.open(name):write("z"))`)
	want := "p99,0.3\nfalse\ttest.lua:10: write: a table is neither string nor number\nnil\tbad file descriptor\t9\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "p99,0.3\nY\np99,0.3\nx\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// A script is confined: it reads its own folder and the results, writes the results, and sees the plan's variables.
func TestAScriptIsConfined(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET", "hunter2")
	path := folder(t, map[string]string{
		"main.lua": `
local secret = os.getenv("FILE")
for _, try in ipairs({
  function() return assert(io.open(secret)):read("*a") end,
  function() return assert(io.open("../" .. secret:match("([^/]*/[^/]*)$"))):read("*a") end,
  function() return assert(io.open("link")):read("*a") end,
  function() for line in io.lines(secret) do return line end end,
  function() return dofile(secret) end,
  function() return assert(loadfile(secret)) end,
  function() package.path = secret return require("hunter2") end,
  function() return assert(io.open(secret, "a")):write("x") end,
  function() return assert(io.open("main.lua", "r+")):write("x") end,
  function() return assert(io.open("link", "w")):write("x") end,
  function() return os.remove(secret) end,
  function() return os.rename(secret, secret .. "2") end,
  function() return os.tmpname() end,
  function() return assert(os.getenv("SECRET")) end,
}) do
  local done, what = pcall(try)
  if done or tostring(what):match("hunter2'? near") then print("not refused:", _, what) end
end
print(assert(io.open("own.txt", "w")):write("mine"):close(), io.open("own.txt"):read("*a"))`,
	})
	results := filepath.Join(filepath.Dir(path), "results")
	for _, link := range []string{filepath.Join(filepath.Dir(path), "link"), filepath.Join(results, "link")} {
		if os.MkdirAll(results, 0o755) != nil || os.Symlink(secret, link) != nil {
			t.Fatal(link)
		}
	}
	var out bytes.Buffer
	opened(t, Options{Path: path, Output: &out, Env: map[string]string{"FILE": secret}, Results: results})
	if out.String() != "true\tmine\n" {
		t.Error(out.String())
	}
	if kept, err := os.ReadFile(secret); err != nil || string(kept) != "hunter2" {
		t.Errorf("%q, %v", kept, err)
	}
}
