package request

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func TestNumbersAreUniformOverExactlyTheirRange(t *testing.T) {
	d := draws(t, `{"i":{"kind":"integer","min":-3,"max":12},"d":{"kind":"decimal","min":-0.5,"max":0.8,"step":0.25}}`)
	fits(t, d.counts(20000, func() string { return d.text("i") }), evenly(numbers(-3, 12)))
	fits(t, d.counts(20000, func() string { return d.text("d") }),
		evenly([]string{"-0.50", "-0.25", "0.00", "0.25", "0.50", "0.75"}))
}

func TestANumberThatDiffers(t *testing.T) {
	d := draws(t, `{"i":{"kind":"integer","min":0,"max":7},"j":{"kind":"integer","min":2,"max":5,"not":"i"},
	 "z":{"kind":"zipf","n":4,"alpha":1},"k":{"kind":"integer","min":1,"max":4,"not":"z"}}`)
	pairs, harmonic := map[string]float64{}, 1+1.0/2+1.0/3+1.0/4
	for i := range 8 {
		for j := 2; j <= 5; j++ {
			switch {
			case i < 2 || i > 5:
				pairs[fmt.Sprint(i, j)] = 1.0 / 8 / 4
			case i != j:
				pairs[fmt.Sprint(i, j)] = 1.0 / 8 / 3
			}
		}
	}
	fits(t, d.counts(40000, func() string { return d.text("i") + " " + d.text("j") }), pairs)
	pairs = map[string]float64{}
	for z := 1; z <= 4; z++ {
		for k := 1; k <= 4; k++ {
			if k != z {
				pairs[fmt.Sprint(z, k)] = 1 / float64(z) / harmonic / 3
			}
		}
	}
	fits(t, d.counts(40000, func() string { return d.text("z") + " " + d.text("k") }), pairs)
}

func TestChoicesHaveTheirWeights(t *testing.T) {
	d := draws(t, `{"c":{"kind":"choice","values":["a","b","c","d"],"weights":[1,0,2.5,0.5]},
	 "e":{"kind":"choice","values":["a","b","c"]},"f":{"kind":"choice","values":["a","b","c"],"not":"e"}}`)
	fits(t, d.counts(20000, func() string { return d.text("c") }), map[string]float64{"a": 0.25, "c": 0.625, "d": 0.125})
	fits(t, d.counts(20000, func() string { return d.text("e") + d.text("f") }), evenly([]string{"ab", "ac", "ba", "bc", "ca", "cb"}))
}

func TestAWeightedChoiceThatDiffers(t *testing.T) {
	weights := map[string]float64{"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
	d := draws(t, `{"e":{"kind":"choice","values":["a","b","c","d"],"weights":[1,2,3,4]},
	 "f":{"kind":"choice","values":["a","b","c","d"],"weights":[1,2,3,4],"not":"e"}}`)
	pairs := map[string]float64{}
	for e, first := range weights {
		for f, second := range weights {
			if e != f {
				pairs[e+f] = first * second / (1 - first)
			}
		}
	}
	fits(t, d.counts(40000, func() string { return d.text("e") + d.text("f") }), pairs)
}

// exact returns the probabilities of ranks 1 to shown, and of all others together as "more".
func exact(n int, alpha float64, shown int) map[string]float64 {
	total, probability := 0.0, map[string]float64{}
	for k := n; k >= 1; k-- {
		total += math.Pow(float64(k), -alpha)
	}
	rest := 1.0
	for k := 1; k <= min(n, shown); k++ {
		p := math.Pow(float64(k), -alpha) / total
		probability[fmt.Sprint(k)] = p
		rest -= p
	}
	if n > shown {
		probability["more"] = rest
	}
	return probability
}

func TestZipfHasItsProbabilities(t *testing.T) {
	for _, c := range []struct {
		n     int
		alpha float64
		shown int
	}{
		{1, 1, 1}, {2, 1, 2}, {100, 3, 8}, {100, 0.99, 100}, {1024, 1, 100}, // by table
		{1025, 1, 100}, {1025, 0.3, 200}, {5000, 0.5, 50}, {5000, 1, 50}, {5000, 1.0000001, 50}, {5000, 2.5, 15}, {100000, 5, 5}, // by rejection
	} {
		t.Run(fmt.Sprintf("n=%d,alpha=%g", c.n, c.alpha), func(t *testing.T) {
			d := draws(t, fmt.Sprintf(`{"z":{"kind":"zipf","n":%d,"alpha":%g}}`, c.n, c.alpha))
			if table := d.set.drawers[0].(zipf).cumulative != nil; table != (c.n <= zipfTable) {
				t.Errorf("by table: %v", table)
			}
			if c.n == 1 {
				if counts := d.counts(10, func() string { return d.text("z") }); counts["1"] != 10 {
					t.Errorf("%v", counts)
				}
				return
			}
			counts := d.counts(400000, func() string {
				var rank int
				if _, err := fmt.Sscan(d.text("z"), &rank); err != nil || rank < 1 || rank > c.n {
					t.Fatalf("%q is no rank of 1 to %d", d.text("z"), c.n)
				}
				if rank > c.shown {
					return "more"
				}
				return d.text("z")
			})
			fits(t, counts, exact(c.n, c.alpha, c.shown))
		})
	}
}

// The far ranks are right too, not only the frequent ones: by decade, against the integral, which for ranks
// this high differs from the sum by less than the test can see.
func TestZipfOfATrillionRanks(t *testing.T) {
	d := draws(t, `{"z":{"kind":"zipf","n":1000000000000,"alpha":1}}`)
	const euler = 0.5772156649015329
	total := math.Log(1e12) + euler
	probability := map[string]float64{"1": 1 / total}
	harmonic := 1.0
	for digits := 1; digits <= 12; digits++ {
		high := math.Pow10(digits)
		upTo := math.Log(high-1) + euler + 1/(2*(high-1)) - 1/(12*(high-1)*(high-1))
		probability[fmt.Sprint(digits, " digits")] = (upTo - harmonic) / total
		harmonic = upTo
	}
	probability["12 digits"] += (total - harmonic) / total
	fits(t, d.counts(100000, func() string {
		if value := d.text("z"); value == "1" || len(value) > 12 {
			return strings.TrimSuffix(value, "000000000000")
		}
		return fmt.Sprint(len(d.text("z")), " digits")
	}), probability)
}

func TestZipfOfValues(t *testing.T) {
	d := draws(t, `{"z":{"kind":"zipf","values":["ann","bo","cy"],"alpha":1}}`)
	fits(t, d.counts(20000, func() string { return d.text("z") }), map[string]float64{"ann": 6.0 / 11, "bo": 3.0 / 11, "cy": 2.0 / 11})
}

func TestTextsAreUniformOverTheirAlphabet(t *testing.T) {
	for name, alphabet := range alphabets {
		if name == "words" {
			continue
		}
		d := draws(t, fmt.Sprintf(`{"t":{"kind":"text","min":0,"max":20,"alphabet":%q}}`, name))
		letters, ends := map[string]int{}, map[string]int{}
		lengths := d.counts(20000, func() string {
			for place, letter := range d.text("t") {
				letters[string(letter)]++
				if place == 5 { // the last of six that come from the same random bits
					ends[string(letter)]++
				}
			}
			return fmt.Sprint(len(d.text("t")))
		})
		fits(t, lengths, evenly(numbers(0, 20)))
		fits(t, letters, evenly(strings.Split(alphabet, "")))
		fits(t, ends, evenly(strings.Split(alphabet, "")))
	}
	if len(alphabets["alnum"]) != 62 {
		t.Errorf("%d letters and digits", len(alphabets["alnum"]))
	}
}

func TestWordsHaveSingleSpacesBetweenThem(t *testing.T) {
	d := draws(t, `{"t":{"kind":"text","min":1,"max":30,"alphabet":"words"}}`)
	fits(t, d.counts(20000, func() string {
		for _, word := range strings.Split(d.text("t"), " ") {
			if len(word) == 0 || len(word) > 11 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
				t.Fatalf("%q has the word %q", d.text("t"), word)
			}
		}
		return fmt.Sprint(len(d.text("t")))
	}), evenly(numbers(1, 30)))
}

func TestDatesAreUniformOverTheirDays(t *testing.T) {
	d := draws(t, `{"in":{"kind":"date","from":"2016-02-27","to":"2016-03-02"},
	 "out":{"kind":"date","after":"in","min_days":1,"max_days":3,"to":"2016-03-03"}}`)
	pairs := map[string]float64{}
	for day := 27; day <= 31; day++ { // 27, 28 and 29 February, 1 and 2 March
		first := time.Date(2016, 2, day, 0, 0, 0, 0, time.UTC)
		stays := min(3, 32-day)
		for stay := 1; stay <= stays; stay++ {
			pairs[first.Format(time.DateOnly)+first.AddDate(0, 0, stay).Format(time.DateOnly)] = 1 / 5.0 / float64(stays)
		}
	}
	fits(t, d.counts(20000, func() string { return d.text("in") + d.text("out") }), pairs)
}

func TestLinesOfAFile(t *testing.T) {
	path := writeFile(t, "names.txt", "\xef\xbb\xbfann\r\nbo lee\ncy") // as some editors leave it
	d := draws(t, fmt.Sprintf(`{"f":{"kind":"file","path":%q},"g":{"kind":"file","path":%q,"order":"sequence"}}`, path, path))
	fits(t, d.counts(20000, func() string { return d.text("f") }), evenly([]string{"ann", "bo lee", "cy"}))
	for n, name := range []string{"ann", "bo lee", "cy", "ann", "bo lee"} {
		if d.request(uint64(n)); d.text("g") != name {
			t.Errorf("request %d has %q, want %q", n, d.text("g"), name)
		}
	}
}

func TestAColumnOfAFile(t *testing.T) {
	path := writeFile(t, "films.csv", "id,title\n1,\"Up, up\"\n2,\"a \"\"b\"\"\"\n3,Ran\n")
	d := draws(t, fmt.Sprintf(`{"f":{"kind":"file","path":%q,"column":"title"}}`, path))
	fits(t, d.counts(20000, func() string { return d.text("f") }), evenly([]string{"Up, up", `a "b"`, "Ran"}))
}

func TestMistakesInFilesNameTheLine(t *testing.T) {
	for _, c := range []struct{ content, column, says string }{
		{"", "", " has no values"},
		{"a\n\nb\n", "", ":2: the value is empty; remove the line"},
		{"a\nb\x00c\n", "", ":2: the value has a control character (0x00)"},
		{"a\nb\rc\n", "", ":2: the value has a control character (0x0d)"},
		{"a\n" + strings.Repeat("x", 1<<20+1), "", ":2: the value has 1048577 bytes; at most 1048576"},
		{"", "id", " has no values"},
		{"id,title\n", "id", " has no values"},
		{"id,title\n1,Ran\n", "name", `:1: no column "name"; it has id, title`},
		{"id,title\n1,Ran\n2\n", "title", ":3: not CSV: wrong number of fields"},
		{"id,title\n1,Ran\n2,\n", "title", ":3: the value is empty; remove the line"},
		{"id,title\n1,\"a\nb\"\n", "title", ":2: the value has a control character (0x0a)"},
		{"id,title\n1,a\"b\n", "title", ":2: not CSV: bare \" in non-quoted-field"},
	} {
		path := writeFile(t, "x.csv", c.content)
		_, err := compileFields(map[string]Field{"f": {Kind: "file", Path: path, Column: c.column}}, nil, "op")
		if want := "op.fields.f.path: " + path + c.says; err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	large := writeFile(t, "large", "x\n")
	if err := os.Truncate(large, largestFile+1); err != nil { // sparse: it takes no room
		t.Fatal(err)
	}
	for _, c := range []struct {
		field Field
		says  string
	}{
		{Field{Path: "", Kind: "file"}, "op.fields.f.path: missing; give a text file, or a CSV file and a column"},
		{Field{Path: folder, Kind: "file"}, "op.fields.f.path: " + folder + " is not a regular file"},
		{Field{Path: folder + "/no", Kind: "file"}, "op.fields.f.path: stat " + folder + "/no: no such file or directory"},
		{Field{Path: large, Kind: "file"}, "op.fields.f.path: " + large + " has 100000001 bytes; at most 100000000 are read"},
		{Field{Path: large, Kind: "file", Order: "any"}, `op.fields.f.order: "any" is not known; give random or sequence`},
	} {
		if _, err := compileFields(map[string]Field{"f": c.field}, nil, "op"); err == nil || err.Error() != c.says {
			t.Errorf("got %v\nwant %s", err, c.says)
		}
	}
	ordered := map[string]Field{
		"f":     {Kind: "repeat", Of: "lines", Min: "1", Max: "2"},
		"lines": {Kind: "file", Path: writeFile(t, "a.txt", "a\n"), Order: "sequence"},
	}
	want := `op.fields.f.of: "lines" takes its file in order: it is the same all through a request`
	if _, err := compileFields(ordered, nil, "op"); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
