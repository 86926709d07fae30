package request

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// drawn draws the fields of one operation, request after request.
type drawn struct {
	set    *fieldSet
	values values
	source *rand.PCG
}

func draws(t testing.TB, fields string) *drawn {
	t.Helper()
	var given map[string]Field
	if err := json.Unmarshal([]byte(fields), &given); err != nil {
		t.Fatalf("%v in %s", err, fields)
	}
	set, err := compileFields(given, nil, "op")
	if err != nil {
		t.Fatalf("%v in %s", err, fields)
	}
	return drawing(set)
}

func drawing(set *fieldSet) *drawn {
	source := rand.NewPCG(0, 0)
	return &drawn{set: set, source: source, values: values{random: rand.New(source)}}
}

// request draws all fields of request n.
func (d *drawn) request(n uint64) {
	d.source.Seed(7, n*0x9e3779b97f4a7c15)
	d.values.begin(n, d.values.random)
	d.values.draw(d.set.drawers)
}

func (d *drawn) text(name string) string { return string(d.values.of(d.set.slots[name])) }

// counts draws n requests and counts what `of` says of each.
func (d *drawn) counts(n int, of func() string) map[string]int {
	counts := map[string]int{}
	for i := range n {
		d.request(uint64(i))
		counts[of()]++
	}
	return counts
}

// fits is the chi-square test: it fails if counts like these, or worse ones, come from the probabilities less
// than once in a million times. The seeds are fixed, so the answer is too. What has no probability may not be there.
func fits(t *testing.T, counts map[string]int, probability map[string]float64) {
	t.Helper()
	n, total := 0, 0.0
	for value, count := range counts {
		if probability[value] == 0 {
			t.Errorf("%q was drawn", value)
		}
		n += count
	}
	statistic := 0.0
	for value, p := range probability {
		total += p
		expected := p * float64(n)
		if expected < 5 {
			t.Fatalf("%q is expected %.1f times of %d: too few for the test", value, expected, n)
		}
		statistic += (float64(counts[value]) - expected) * (float64(counts[value]) - expected) / expected
	}
	if math.Abs(total-1) > 1e-9 {
		t.Fatalf("the probabilities add up to %g", total)
	}
	// Wilson and Hilferty: the cube root of chi-square/df is nearly normal; 4.75 sd is 1e-6.
	df := float64(len(probability) - 1)
	if limit := df * math.Pow(1-2/(9*df)+4.75*math.Sqrt(2/(9*df)), 3); statistic > limit {
		t.Errorf("chi-square %.1f for %d values, at most %.1f", statistic, len(probability), limit)
	}
}

func evenly(values []string) map[string]float64 {
	probability := map[string]float64{}
	for _, value := range values {
		probability[value] = 1 / float64(len(values))
	}
	return probability
}

func numbers(from, to int) []string {
	var values []string
	for i := from; i <= to; i++ {
		values = append(values, fmt.Sprint(i))
	}
	return values
}

// writeFile writes a file for a test.
func writeFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// everyKind is a plan with a field of every kind in it.
func everyKind(t testing.TB) string {
	path, _ := json.Marshal(writeFile(t, "titles.csv", "id,title\n1,Ponyo\n2,\"Up, up\"\n3,Ran\n"))
	return strings.ReplaceAll(`{"target":"http://127.0.0.1:1","arrival":{"process":"constant","rate":1},"duration_s":1,"operations":[
	 {"name":"all","method":"POST","path":"/{integer}/{decimal}?d={date}&e={end}&c={choice}&o={other}&z={zipf}&big={big}&f={file}&g={ordered}",
	  "headers":{"X-Id":"{sequence}"},"body":"{\"t\":\"{text}\",\"w\":\"{words}\",\"r\":[{repeat}],\"s\":[{same}],\"m\":\"{mentions}\"}","fields":{
	  "integer":{"kind":"integer","min":0,"max":9},
	  "decimal":{"kind":"decimal","min":-1,"max":1,"step":0.25},
	  "date":{"kind":"date","from":"2020-02-27","to":"2020-03-02"},
	  "end":{"kind":"date","after":"date","min_days":1,"max_days":3},
	  "choice":{"kind":"choice","values":["a","b","c"],"weights":[1,2,3]},
	  "other":{"kind":"choice","values":["a","b","c"],"weights":[1,2,3],"not":"choice"},
	  "zipf":{"kind":"zipf","n":50,"alpha":0.9},
	  "big":{"kind":"zipf","n":1000000000,"alpha":0.9},
	  "text":{"kind":"text","length":256},
	  "words":{"kind":"text","min":10,"max":40,"alphabet":"words"},
	  "sequence":{"kind":"sequence","start":10,"step":2},
	  "file":{"kind":"file","path":PATH,"column":"title"},
	  "ordered":{"kind":"file","path":PATH,"column":"id","order":"sequence"},
	  "id":{"kind":"text","length":18,"alphabet":"digits"},
	  "png":{"kind":"choice","values":["png"]},
	  "user":{"kind":"integer","min":0,"max":9,"not":"integer"},
	  "repeat":{"kind":"repeat","of":"id","min":1,"max":5,"separator":",","prefix":"\"","suffix":"\""},
	  "same":{"kind":"repeat","of":"png","as_many_as":"repeat","separator":",","prefix":"\"","suffix":"\""},
	  "mentions":{"kind":"repeat","of":"user","min":0,"max":6,"prefix":" @username_"}}}]}`, "PATH", string(path))
}

func TestEveryKindIsTheSameForTheSameNumber(t *testing.T) {
	a, b := mixOf(t, everyKind(t)), mixOf(t, everyKind(t))
	seen := map[string]bool{}
	for n := range uint64(200) {
		one, _ := firstOf(a, n)
		firstOf(b, 199-n) // in another order, as another thread would
		other, _ := firstOf(b, n)
		if string(one) != string(other) {
			t.Fatalf("request %d: %q and %q", n, one, other)
		}
		if len(one) > a.Longest() {
			t.Fatalf("%d bytes, at most %d expected", len(one), a.Longest())
		}
		seen[string(one)] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d different requests of 200", len(seen))
	}
}

func TestEveryKindLooksAsDescribed(t *testing.T) {
	form := regexp.MustCompile(`^POST /\d/-?[01]\.\d\d\?d=2020-0[23]-\d\d&e=2020-0[23]-\d\d&c=[abc]&o=[abc]&z=[1-5]?\d&big=\d{1,10}` +
		`&f=(Ponyo|Up%2C%20up|Ran)&g=[123] HTTP/1.1\r\nHost: 127.0.0.1:5000\r\nX-Id: \d+\r\nContent-Length: \d+\r\n\r\n` +
		`\{"t":"[a-zA-Z0-9]{256}","w":"[a-z ]{10,40}","r":\[("\d{18}",?){1,5}\],"s":\[("png",?){1,5}\],"m":"( @username_\d){0,6}"\}$`)
	m := mixOf(t, everyKind(t))
	for n := range uint64(500) {
		if text, _ := firstOf(m, n); !form.Match(text) {
			t.Fatalf("request %d: %q", n, text)
		}
	}
}

func TestNoKindAllocates(t *testing.T) {
	m, buffer, n := mixOf(t, everyKind(t)), make([]byte, 0, 8192), uint64(0)
	next := func() {
		n++
		m.Render(buffer, n)
	}
	for range 100 {
		next()
	}
	if allocations := testing.AllocsPerRun(1000, next); allocations > 0 {
		t.Errorf("%.2f allocations a request", allocations)
	}
}

func BenchmarkEveryKind(b *testing.B) {
	m, buffer, n := mixOf(b, everyKind(b)), make([]byte, 0, 8192), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		m.Render(buffer, n)
	}
}

// A published compose-post request: fields express all of it, each number with its frequency.
func TestRepeatsOfAPublishedPost(t *testing.T) {
	d := draws(t, `{"user":{"kind":"integer","min":0,"max":961},"mentioned":{"kind":"integer","min":0,"max":961,"not":"user"},
	 "mentions":{"kind":"repeat","of":"mentioned","min":1,"max":6,"prefix":" @username_"},
	 "letters":{"kind":"text","length":64},"urls":{"kind":"repeat","of":"letters","min":1,"max":6,"prefix":" http://"},
	 "id":{"kind":"text","length":18,"alphabet":"digits"},"png":{"kind":"choice","values":["png"]},
	 "ids":{"kind":"repeat","of":"id","min":1,"max":5,"separator":",","prefix":"\"","suffix":"\""},
	 "types":{"kind":"repeat","of":"png","as_many_as":"ids","separator":",","prefix":"\"","suffix":"\""}}`)
	url := regexp.MustCompile(`^( http://[a-zA-Z0-9]{64})+$`)
	mentions, urls, media := map[string]int{}, map[string]int{}, map[string]int{}
	for n := range uint64(6000) {
		d.request(n)
		if strings.Contains(d.text("mentions")+" ", " @username_"+d.text("user")+" ") {
			t.Fatalf("%s mentions %s", d.text("user"), d.text("mentions"))
		}
		if !url.MatchString(d.text("urls")) {
			t.Fatalf("urls %q", d.text("urls"))
		}
		ids := strings.Split(d.text("ids"), ",")
		if have := strings.Repeat(`"png",`, len(ids)); d.text("types")+"," != have || len(ids[0]) != 20 {
			t.Fatalf("ids %s, types %s", ids, d.text("types"))
		}
		mentions[fmt.Sprint(strings.Count(d.text("mentions"), "@"))]++
		urls[fmt.Sprint(strings.Count(d.text("urls"), "http"))]++
		media[fmt.Sprint(len(ids))]++
	}
	fits(t, mentions, evenly(numbers(1, 6)))
	fits(t, urls, evenly(numbers(1, 6)))
	fits(t, media, evenly(numbers(1, 5)))
}

func TestSequencesArePureFunctionsOfTheNumber(t *testing.T) {
	d := draws(t, `{"a":{"kind":"sequence"},"b":{"kind":"sequence","start":-5,"step":-3}}`)
	for _, n := range []uint64{0, 1, 2, 1000000, 864_000_000_000, 1} {
		d.request(n)
		if d.text("a") != fmt.Sprint(n) || d.text("b") != fmt.Sprint(-5-3*int64(n)) {
			t.Errorf("request %d: %s, %s", n, d.text("a"), d.text("b"))
		}
	}
}

func TestASumFollowsItsField(t *testing.T) {
	d := draws(t, `{"start":{"kind":"integer","min":0,"max":100},"a_stop":{"kind":"sum","of":"start","add":10},
	 "back":{"kind":"sum","of":"a_stop","add":-10},"other":{"kind":"integer","min":5,"max":15,"not":"a_stop"}}`)
	met := 0
	for n := range uint64(2000) {
		d.request(n)
		start, err := strconv.Atoi(d.text("start"))
		if err != nil || d.text("a_stop") != fmt.Sprint(start+10) || d.text("back") != fmt.Sprint(start) {
			t.Fatalf("%s, %s, %s", d.text("start"), d.text("a_stop"), d.text("back"))
		}
		if d.text("other") == d.text("a_stop") {
			t.Fatalf("%s is not other than %s", d.text("other"), d.text("a_stop"))
		}
		if start <= 5 {
			met++
		}
	}
	if met == 0 {
		t.Error("the two were never near each other")
	}
}

func TestAllStepsOfASessionHaveItsFields(t *testing.T) {
	text := `{"operations":[{"name":"other","path":"/"},
	 {"name":"visit","fields":{"user":{"kind":"integer","min":0,"max":99}},"steps":[{"name":"login","path":"/{user}"},
	 {"name":"book","path":"/{user}/{friend}/{hotel}","think":{"min_s":0,"max_s":1},
	  "fields":{"friend":{"kind":"integer","min":0,"max":99,"not":"user"},"hotel":{"kind":"integer","min":1,"max":4}}}]}]}`
	m, hotels, sessions := mixOf(t, text), map[string]int{}, 0
	other := mixOf(t, text)
	for n := range uint64(4000) {
		first, o := m.Render(nil, n)
		if len(o.Steps) == 1 {
			continue
		}
		m.Render(nil, n+1) // other requests come between
		data, think := m.Later(nil, o, n, 1, nil)
		again, _ := other.Later(nil, o, n, 1, nil) // on another thread
		var user, same, friend, hotel int
		if _, err := fmt.Sscanf(string(first)+string(data[4:]), "GET /%d HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n\r\n/%d/%d/%d ", &user, &same, &friend, &hotel); err != nil {
			t.Fatalf("%v in %q and %q", err, first, data)
		}
		if same != user || friend == user || string(again) != string(data) || think < 0 || think > 1e9 {
			t.Fatalf("%q, %q, again %q, think %d", first, data, again, think)
		}
		hotels[fmt.Sprint(hotel)]++
		sessions++
	}
	fits(t, hotels, evenly(numbers(1, 4)))
	fits(t, map[string]int{"visit": sessions, "other": 4000 - sessions}, evenly([]string{"visit", "other"}))
}

func TestAStepMayNotHideAFieldOfItsSession(t *testing.T) {
	user := map[string]Field{"user": {Kind: "sequence"}}
	session, err := compileFields(user, nil, "op")
	if err != nil {
		t.Fatal(err)
	}
	want := "op.steps[0].fields.user: is the name of a field of the session; give it another"
	if _, err := compileFields(user, session, "op.steps[0]"); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestAHeaderIsOneLine(t *testing.T) {
	for name, says := range map[string]string{"choice": "{choice}", "zipf": "{zipf}", "repeat": "{repeat}", "joined": "{joined}", "fine": ""} {
		_, _, err := planOf(strings.Replace(`{"operations":[{"name":"a","path":"/{choice}","body":"{joined}","headers":{"X":"{NAME}"},"fields":{
		 "choice":{"kind":"choice","values":["a","b\r\nX: c"]},"zipf":{"kind":"zipf","values":["a\u0000"],"alpha":1},
		 "repeat":{"kind":"repeat","of":"choice","min":1,"max":2},"fine":{"kind":"choice","values":["a b"]},
		 "joined":{"kind":"repeat","of":"fine","min":1,"max":2,"separator":"\n"}}}]}`, "NAME", name, 1))
		want := "operations[0].headers.X: " + says + " can have a line end in it; a header is one line"
		if says == "" && err != nil || says != "" && (err == nil || err.Error() != want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
