package script

import (
	"math"
	"strings"
	"testing"
)

const draws = `
local t = {}
for i = 1, 1000 do t[i] = math.random(1, 1000000) end
print(table.concat(t, " "))`

func TestRandomNumbersComeFromTheSeed(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range []Options{{Seed: 1}, {Seed: 2}, {Seed: 1, Thread: 1}, {Seed: 1, Thread: 2}, {Seed: math.MaxUint64}} {
		first := printed(t, o, draws)
		if second := printed(t, o, draws); second != first {
			t.Errorf("%+v: not the same twice", o)
		}
		if seen[first] {
			t.Errorf("%+v: the same as with another seed or thread", o)
		}
		seen[first] = true
	}
}

func TestRandomseedTakesNothingOfItsArgument(t *testing.T) {
	seeded := func(argument string) string {
		return printed(t, Options{Seed: 5}, "math.randomseed("+argument+")"+draws)
	}
	same := seeded("1")
	for _, argument := range []string{"2", "os.time()", "require('socket').gettime()*1000", "tostring({}):sub(8)"} {
		if seeded(argument) != same {
			t.Errorf("math.randomseed(%s) gives other numbers than math.randomseed(1)", argument)
		}
	}
	if printed(t, Options{Seed: 5}, draws) == same {
		t.Error("math.randomseed goes back to the numbers before it")
	}
	if again := seeded("1) math.randomseed(1"); again == same {
		t.Error("the second math.randomseed gives the numbers of the first")
	}
}

// Reseeding before every draw, as some scripts do, still gives a uniform distribution.
func TestReseedingAtEveryDrawKeepsTheDistribution(t *testing.T) {
	got := printed(t, Options{Seed: 3}, `
local t = {}
for i = 1, 20000 do math.randomseed(os.time()) t[i] = math.random(10) end
print(table.concat(t, " "))`)
	uniform(t, strings.Fields(got), 10)
}

func TestRandomRanges(t *testing.T) {
	got := printed(t, Options{Seed: 7}, `
local low, high, sum = 1, 0, 0
for i = 1, 10000 do local x = math.random() low, high, sum = math.min(low, x), math.max(high, x), sum + x end
print(low >= 0, low < 0.01, high < 1, high > 0.99, math.abs(sum / 10000 - 0.5) < 0.02)
local ends = {}
for i = 1, 1000 do ends[math.random(0, 3)] = true ends["m" .. math.random(2)] = true end
print(ends[-1], ends[0], ends[3], ends[4], ends.m0, ends.m1, ends.m2, ends.m3)
print(math.random(5, 5), math.random(1), math.random("3", 3), math.random(0))`)
	want := "true\ttrue\ttrue\ttrue\ttrue\nnil\ttrue\ttrue\tnil\tnil\ttrue\ttrue\tnil\n5\t1\t3\t1\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// uniform fails unless values look uniform over so many kinds: a chi-square test at a level of 1e-6 and below.
func uniform(t testing.TB, values []string, kinds int) {
	t.Helper()
	counts := map[string]float64{}
	for _, value := range values {
		counts[value]++
	}
	expected := float64(len(values)) / float64(kinds)
	chi := float64(kinds-len(counts)) * expected
	for _, count := range counts {
		chi += (count - expected) * (count - expected) / expected
	}
	freedom := float64(kinds - 1)
	if limit := freedom + 5*math.Sqrt(2*freedom) + 25; len(counts) > kinds || chi > limit {
		t.Errorf("%d values of %d kinds: chi-square %.1f is above %.1f", len(values), kinds, chi, limit)
	}
}
