package load

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/script"
)

// scripted is a plan whose requests a script makes.
func (s *server) scripted(t *testing.T, source string, keys map[string]any) *Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "load.lua")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	given := map[string]any{"path": path, "args": []string{"7"}}
	keys["operations"], keys["script"] = nil, given
	return s.plan(t, keys)
}

const mixed = `
function request()
  if math.random() < 0.75 then
    return wrk.format("GET", "/item/" .. math.random(1, 1000) .. "?x=1")
  end
  return wrk.format("POST", "/order", {["Content-Type"] = "text/plain"}, "count=" .. math.random(9))
end`

// A script's requests are sent like those of data: all of them, distinguished by method and path, with a seed that decides.
func TestScriptMakesTheRequests(t *testing.T) {
	t.Parallel()
	var before string
	for range 2 {
		s := serve(t, ok)
		source := strings.ReplaceAll(mixed, `"/item/" .. math.random(1, 1000) ..`, `"/item" ..`)
		summary, _ := drive(t, s.scripted(t, source, map[string]any{"threads": 2, "arrival": rate("constant", 400)}))
		counts := map[string]int64{}
		for _, o := range summary.Operations {
			counts[o.Name] = o.Counts.Completed
		}
		if get, post := counts["GET /item"], counts["POST /order"]; get+post != 200 || get < 120 || get > 180 {
			t.Errorf("%v", counts)
		}
		seen := s.seen()
		sort.Strings(seen)
		if now := strings.Join(seen, " "); before != "" && now != before {
			t.Error("the same seed makes other requests")
		} else {
			before = now
		}
	}
}

// Paths with ids would make a kind each: beyond a number they are one.
func TestScriptOfManyPaths(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, _ := drive(t, s.scripted(t, mixed, map[string]any{"arrival": rate("constant", 1000)}))
	if n := len(summary.Operations); n != request.MostKinds+1 || summary.Operations[n-1].Name != request.OtherKinds {
		t.Errorf("%d kinds, the last is %s", n, summary.Operations[n-1].Name)
	}
	if summary.Counts.Completed != 500 {
		t.Errorf("%+v", summary.Counts)
	}
}

const login = `
local token
function request()
  if token == nil then return wrk.format("GET", "/login") end
  return wrk.format("GET", "/read/" .. token)
end
function response(status, headers, body)
  token = token or body:match("t%d+")
end`

// A script that looks at answers decides by them what to ask next.
func TestScriptThatLooksAtAnswers(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		backend := &tokens{used: map[string]int{}}
		s := serve(t, backend.answer)
		keys := map[string]any{"connections": 1, "arrival": rate("constant", 50), "duration_s": 3}
		if !open {
			keys["arrival"], keys["closed"] = nil, map[string]any{"clients": 1}
		}
		summary, _ := drive(t, s.scripted(t, login, keys))
		counts := map[string]int64{}
		for _, o := range summary.Operations {
			counts[o.Name] = o.Counts.Completed
		}
		// Open: what was made ahead could not know the token yet. Closed: only the first request does not.
		if first := counts["GET /login"]; first < 1 || !open && first != 1 || counts["GET /read/t1"] < 1 {
			t.Errorf("open %v: %v", open, counts)
		}
		if summary.Generator.ScriptLost != 0 {
			t.Errorf("%d answers were not seen", summary.Generator.ScriptLost)
		}
	}
}

// delay() moves the intended time, and does not count as latency.
func TestScriptThatDelays(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, _ := drive(t, s.scripted(t, "n = 0\nfunction delay() n = n + 1; return n % 2 * 700 end", map[string]any{"arrival": rate("constant", 40),
		"duration_s": 1}))
	if c := summary.Counts; c.Completed != 40 || summary.LatencyMs["intended"].P50 > 600 {
		t.Errorf("%+v, p50 %g ms", c, summary.LatencyMs["intended"].P50)
	}
}

// done() sees the whole run.
func TestScriptDone(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	plan := s.scripted(t, `function done(summary, latency, requests)
	  local f = io.open("done.txt", "w")
	  f:write(summary.requests .. " " .. summary.duration .. " " .. (latency:percentile(50) > 0 and "ok" or "0"))
	  f:close()
	end`, map[string]any{"arrival": rate("constant", 100), "duration_s": 1})
	summary, out := drive(t, plan)
	text, err := os.ReadFile(filepath.Join(out, scriptResults, "done.txt"))
	if want := "1000000 ok"; err != nil || !strings.HasSuffix(string(text), want) || summary.Counts.Completed != 100 {
		t.Errorf("%v %q", err, text)
	}
}

// Mistakes of a script are known before the load starts, with their line; one that shows later ends the run.
func TestScriptMistakes(t *testing.T) {
	t.Parallel()
	for source, line := range map[string]int{
		"x = = 1":                         1,
		"\nrequire 'nothing'":             2,
		"function request()\n  x.y() end": 2,
		"n = 0\nfunction request()\n  n = n + 1\n  if n > 3000 then error('late') end\n  return wrk.format() end": 4,
	} {
		s := serve(t, ok)
		dir := t.TempDir()
		_, err := Run(context.Background(), s.scripted(t, source, map[string]any{"arrival": rate("constant", 4000), "duration_s": 5}), dir, nil)
		var mistake *script.Error
		if !errors.As(err, &mistake) || mistake.Line != line {
			t.Errorf("%q: %v", source, err)
		}
		if files, _ := filepath.Glob(dir + "/*"); len(files) > 0 {
			t.Errorf("%q left %v", source, files)
		}
		if !strings.Contains(source, "3000") && len(s.seen()) > 0 {
			t.Errorf("%q: %d requests were sent", source, len(s.seen()))
		}
	}
}

// In a closed loop nothing is left over when a script stops.
func TestScriptThatStopsItsClients(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, _ := drive(t, s.closed(t, map[string]any{"duration_s": 1, "closed": map[string]any{"clients": 3}, "operations": nil,
		"script": s.scripted(t, "n = 0\nfunction request()\n  n = n + 1\n  if n == 10 then wrk.thread:stop() end\n  return wrk.format() end", map[string]any{}).Script}))
	if c := summary.Counts; c.Completed < 9 || c.Completed > 10 || c.Offered != c.Completed {
		t.Errorf("%+v", c)
	}
}

// A script that stops its threads leaves the rest unsent.
func TestScriptThatStops(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool { return ok(conn, path, n) })
	summary, _ := drive(t, s.scripted(t, "n = 0\nfunction request()\n  n = n + 1\n  if n == 10 then wrk.thread:stop() end\n  return wrk.format() end",
		map[string]any{"arrival": rate("constant", 100), "duration_s": 1}))
	if c := summary.Counts; c.Completed < 9 || c.Completed > 10 || c.Unsent != 100-c.Completed {
		t.Errorf("%+v", c)
	}
}
