package data

import (
	"testing"

	"loadstone.dev/stone/platform/seeding"
)

func TestCheckTellsWhatDiffers(t *testing.T) {
	capacity := map[string]int{"1": 10}
	for name, c := range map[string]struct {
		booked, taken map[string]int
		unfinished    int
		wrong         string // the finding that is not right
	}{
		"alike":                 {map[string]int{"1 a": 10}, map[string]int{"1 a": 10, "1 b": 0}, 0, ""},
		"lost":                  {map[string]int{"1 a": 3}, map[string]int{}, 0, "nights whose stays are all counted"},
		"lost, with unfinished": {map[string]int{"1 a": 3}, map[string]int{"1 a": 2}, 9, "nights whose stays are all counted"},
		"left":                  {map[string]int{"1 a": 3}, map[string]int{"1 a": 4}, 0, "nights of which only stays are counted"},
		"left by an unfinished": {map[string]int{"1 a": 3}, map[string]int{"1 a": 4, "1 b": 1}, 1, ""},
		"overbooked":            {map[string]int{"1 a": 11}, map[string]int{"1 a": 11}, 9, "nights with no more rooms taken than there are"},
	} {
		findings := compare(c.booked, c.taken, capacity, c.unfinished)
		for _, finding := range findings {
			if wrong := finding.What == c.wrong; finding.OK == wrong || wrong && len(finding.Examples) != 1 {
				t.Errorf("%s: %+v", name, finding)
			}
		}
	}
	if nothing := compare(nil, nil, nil, 0); len(nothing) != 3 || nothing[0].Examples == nil {
		t.Errorf("of nothing: %+v", nothing)
	}
}

func TestNightsOfAStay(t *testing.T) {
	for stay, want := range map[Reservation]int{
		{InDate: "2015-02-27", OutDate: "2015-03-02"}: 3, {InDate: "2015-04-09", OutDate: "2015-04-09"}: 0, {InDate: "x", OutDate: "2015-04-09"}: 0,
	} {
		count := 0
		for range stay.Nights() {
			count++
		}
		if count != want {
			t.Errorf("%+v: %d nights", stay, count)
		}
	}
	if nights := AllNights(); len(nights) != 1 || nights[0] != (Night{"4 2015-04-09", 1}) {
		t.Errorf("seeded: %v", nights)
	}
}

var _ seeding.App = Seed{}
