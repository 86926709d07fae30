package data

import (
	"os"
	"strings"
	"testing"
)

// titlesFile is what workloads take titles from: those of the first 1,000 films.
const titlesFile = "../../../../loadstone/applications/media-microservices/titles.txt"

func TestTheTitlesOfWorkloadsAreTheGeneratedOnes(t *testing.T) {
	var want strings.Builder
	for number := 1; number <= 1000; number++ {
		want.WriteString(FilmAt(number).Info.Title + "\n")
	}
	if os.Getenv("WRITE_TITLES") != "" {
		if err := os.WriteFile(titlesFile, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(titlesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want.String() {
		t.Errorf("%s is not what is generated; WRITE_TITLES=1 go test ./apps/media/data writes it anew", titlesFile)
	}
}

func TestFilmsHaveTitlesOfTheirOwn(t *testing.T) {
	seen := map[string]int{}
	for number := 1; number <= mostFilms; number++ {
		title := FilmAt(number).Info.Title
		if other := seen[title]; other != 0 {
			t.Fatalf("films %d and %d are both called %q", other, number, title)
		}
		if strings.ContainsAny(title, "&+%=;\n") || title != strings.TrimSpace(title) {
			t.Errorf("film %d: %q cannot stand in a form as it is", number, title)
		}
		seen[title] = number
	}
}

func TestFilmsAreWhole(t *testing.T) {
	for number := 1; number <= mostFilms; number++ {
		film := FilmAt(number)
		info := film.Info
		if len(info.Casts) < 4 || len(info.Casts) > mostCasts {
			t.Errorf("film %d has %d actors", number, len(info.Casts))
		}
		actors := map[int64]bool{}
		for i, cast := range info.Casts {
			actors[cast.CastInfoID] = true
			if cast.CastID != int32(i+1) || cast.CastInfoID < 1 || cast.CastInfoID > People || cast.Character == "" {
				t.Errorf("film %d: %+v", number, cast)
			}
		}
		if len(actors) != len(info.Casts) {
			t.Errorf("film %d has an actor twice: %+v", number, info.Casts)
		}
		if info.AvgRating < 0 || info.AvgRating > 10 || info.NumRating < 1 || info.PlotID != film.Plot.PlotID {
			t.Errorf("film %d: %+v", number, info)
		}
		if plot := film.Plot.Plot; strings.ContainsAny(plot, "{}") || !strings.Contains(plot, info.Casts[0].Character) {
			t.Errorf("film %d: plot %q", number, plot)
		}
	}
}

func TestPeopleHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]int{}
	for number := 1; number <= People; number++ {
		person := Person(number)
		if other := seen[person.Name]; other != 0 {
			t.Errorf("people %d and %d are both called %s", other, number, person.Name)
		}
		seen[person.Name] = number
		if !strings.HasPrefix(person.Intro, person.Name+" ") || person.CastInfoID != int64(number) {
			t.Errorf("%+v", person)
		}
	}
}
