package script

import (
	"math"
	"math/rand/v2"

	lua "github.com/yuin/gopher-lua"
)

// random is math.random of one state. The plan's seed, the state and the number of calls of math.randomseed decide
// what comes; the argument of math.randomseed does not, because scripts give it the clock.
type random struct {
	source       rand.PCG
	seed, stream uint64
	seeded       uint64 // calls of math.randomseed
}

func newRandom(seed, stream uint64) random {
	r := random{seed: seed, stream: stream}
	r.reseed()
	return r
}

func (r *random) reseed() {
	r.source.Seed(mix(r.seed), mix(mix(r.stream)+r.seeded))
	r.seeded++
}

// mix spreads a number over all bits (the finaliser of SplitMix64), so that seeds that differ by one share nothing.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (r *random) float() float64 { return float64(r.source.Uint64()>>11) * 0x1p-53 }

func (m *machine) openRandom() {
	m.set("math", map[string]lua.LGFunction{
		"randomseed": func(L *lua.LState) int {
			m.random.reseed()
			return 0
		},
		// As in LuaJIT: nothing checks that the interval is not empty.
		"random": func(L *lua.LState) int {
			x := m.random.float()
			switch L.GetTop() {
			case 0:
			case 1:
				x = math.Floor(x*float64(L.CheckNumber(1))) + 1
			default:
				low, high := float64(L.CheckNumber(1)), float64(L.CheckNumber(2))
				x = math.Floor(x*(high-low+1)) + low
			}
			L.Push(lua.LNumber(x))
			return 1
		},
	})
}
