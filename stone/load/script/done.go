package script

import (
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"

	"loadstone.dev/stone/load/percentile"
)

// Summary is what done(summary, ...) learns of the whole run.
type Summary struct {
	Duration        time.Duration
	Requests, Bytes int64
	Errors          Errors
}

// Errors counts what went wrong. Status counts answers of status 400 and above.
type Errors struct{ Connect, Read, Write, Status, Timeout int64 }

// Percentiles is a distribution as done() sees it: latencies in microseconds, or request rates of the threads. Its
// buckets ascend.
type Percentiles []Bucket

// Bucket is a value and how often it was seen.
type Bucket struct {
	Value float64
	Count int64
}

// Done runs the script's done(), if it has one, in the state that all threads share. No thread may be running.
func (s *Script) Done(summary Summary, latency, requests Percentiles) error {
	if !s.HasDone() {
		return nil
	}
	main := s.common.main
	return main.call("done", main.hook("done"), 0, main.summary(summary), main.statistics(latency), main.statistics(requests))
}

func (m *machine) summary(s Summary) *lua.LTable {
	counts := func(values map[string]int64) *lua.LTable {
		table := m.state.NewTable()
		for name, value := range values {
			table.RawSetString(name, lua.LNumber(value))
		}
		return table
	}
	table := counts(map[string]int64{"duration": s.Duration.Microseconds(), "requests": s.Requests, "bytes": s.Bytes})
	table.RawSetString("errors", counts(map[string]int64{
		"connect": s.Errors.Connect, "read": s.Errors.Read, "write": s.Errors.Write, "status": s.Errors.Status,
		"timeout": s.Errors.Timeout,
	}))
	return table
}

// statistics is latency or requests in Lua: .min .max .mean .stdev, :percentile(p), (i) and #.
func (m *machine) statistics(p Percentiles) *lua.LUserData {
	L := m.state
	number := func(x float64) int {
		L.Push(lua.LNumber(x))
		return 1
	}
	data := L.NewUserData()
	fields := L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"percentile": func(L *lua.LState) int { return number(p.percentile(float64(L.CheckNumber(2)))) },
	})
	mean, stdev := p.moments()
	fields.RawSetString("mean", lua.LNumber(mean))
	fields.RawSetString("stdev", lua.LNumber(stdev))
	fields.RawSetString("min", lua.LNumber(p.at(0).Value))
	fields.RawSetString("max", lua.LNumber(p.at(len(p)-1).Value))
	meta := L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"__len": func(*lua.LState) int { return number(float64(len(p))) },
		"__call": func(L *lua.LState) int {
			bucket := p.at(L.CheckInt(2) - 1)
			return number(bucket.Value) + number(float64(bucket.Count))
		},
	})
	meta.RawSetString("__index", fields)
	data.Metatable = meta
	return data
}

// at is a bucket, or an empty one where there is none.
func (p Percentiles) at(i int) Bucket {
	if i < 0 || i >= len(p) {
		return Bucket{}
	}
	return p[i]
}

func (p Percentiles) count() (total int64) {
	for _, bucket := range p {
		total += bucket.Count
	}
	return total
}

// percentile is defined as everywhere in a result; wrk's is up to one rank higher.
func (p Percentiles) percentile(percent float64) float64 {
	rank, seen := percentile.Rank(percent, p.count()), int64(0)
	for _, bucket := range p {
		if seen += bucket.Count; seen >= rank {
			return bucket.Value
		}
	}
	return p.at(len(p) - 1).Value
}

// moments are the mean and the sample's standard deviation.
func (p Percentiles) moments() (mean, stdev float64) {
	n := float64(p.count())
	if n == 0 {
		return 0, 0
	}
	for _, bucket := range p {
		mean += bucket.Value * float64(bucket.Count) / n
	}
	squares := 0.0
	for _, bucket := range p {
		squares += (bucket.Value - mean) * (bucket.Value - mean) * float64(bucket.Count)
	}
	if n > 1 {
		stdev = math.Sqrt(squares / (n - 1))
	}
	return mean, stdev
}
