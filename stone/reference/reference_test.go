package reference

import "testing"

func TestTheWorkIsTheSameEachTime(t *testing.T) {
	first, sum := Run()
	again, other := Run()
	if sum == 0 || sum != other || len(first) != chunks || len(again) != chunks {
		t.Fatalf("sums %x and %x, %d and %d chunks", sum, other, len(first), len(again))
	}
	for _, ms := range first {
		if ms <= 0 {
			t.Fatalf("a chunk of %d answers cannot take %v ms", answers, ms)
		}
	}
}
