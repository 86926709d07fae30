package script

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// Any text of a script is opened and run, or refused with an Error, within a bounded time.
func FuzzOpen(f *testing.F) {
	for _, path := range []string{"static.lua", "social-read-home-timeline.lua", "social-mixed-workload.lua", "hotel-mixed-workload.lua"} {
		source, err := os.ReadFile("testdata/" + path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	for _, source := range []string{
		"", "#!/usr/bin/lua\nx = 1", "\ufeffx = '\\x41\\'' .. [==[\\x]==] -- \\x", "x = '\\x", "--[[\\x4", "return ...",
		"x = ((((1))))", "goto a ::a::", "for i = 1, 3 do local t = {i, [i] = i .. i} end",
		"function setup(t) t:set('a', {1}) end function init(a) print(a[0], wrk.thread:get('a')) end",
		"function request() return wrk.format('A', '/b?c', {D = 1}, 'e') .. wrk.format() end",
		"function response(s, h, b) wrk.headers[h.A] = b wrk.thread:stop() end",
		"function delay() return math.random(10) end", "while true do end", "local function f() return f() .. 1 end f()",
		"function done(s, l, r) print(s.errors.read, l:percentile(50), #r, l(1)) end",
		"print(('%5.2f|%q|%-3s|%x'):format(1, 'a', 2, 3), ('abc'):gsub('(b)()', '%1%2'), bit.tohex(-1, -3))",
		"coroutine.wrap(function() coroutine.yield(1) error({}) end)()", "load(string.rep('x', 9))() setmetatable(_G, {__index = error})",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		o := filled(Options{Path: "fuzz.lua", Output: io.Discard, deadline: 100 * time.Millisecond, memory: 64 << 20})
		s, err := open(o, source)
		if err == nil {
			defer s.Close()
			for range 3 {
				if _, _, _, err = s.Next(nil); err != nil {
					break
				}
				if err = s.Response(200, []byte("A: b\r\n"), []byte("c")); err != nil {
					break
				}
			}
			if err == nil {
				err = s.Done(Summary{}, Percentiles{{1, 1}}, nil)
			}
		}
		var placed *Error
		if err != nil && !errors.As(err, &placed) && !errors.Is(err, ErrStopped) {
			t.Errorf("%q: %v", source, err)
		}
	})
}
