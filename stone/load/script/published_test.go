package script

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// made is one request, taken apart.
type made struct {
	operation string
	query     url.Values
	line      string // the request line
	head      string
	body      string
}

// drawn makes requests with the script of the kind that is published.
func drawn(t testing.TB, n int, o Options) []made {
	t.Helper()
	o.Path = "testdata/" + o.Path
	s := opened(t, o)
	all := make([]made, n)
	for i := range all {
		text, operation := next(t, s)
		head, body, _ := strings.Cut(text, "\r\n\r\n")
		line, head, _ := strings.Cut(head, "\r\n")
		target, err := url.Parse(strings.Fields(line)[1])
		if err != nil {
			t.Fatal(err)
		}
		all[i] = made{operation, target.Query(), line, head + "\r\n", body}
		if length := len(body); length > 0 && !strings.Contains(head, fmt.Sprintf("Content-Length: %d", length)) {
			t.Fatalf("%q: the body has %d bytes", head, length)
		}
	}
	return all
}

// shares fails unless each operation has its share, within five standard deviations, and there is no other.
func shares(t testing.TB, all []made, want map[string]float64) {
	t.Helper()
	counts := map[string]float64{}
	for _, m := range all {
		counts[m.operation]++
	}
	n := float64(len(all))
	for operation, count := range counts {
		share := want[operation]
		if math.Abs(count-share*n) > 5*math.Sqrt(n*share*(1-share)) || share == 0 {
			t.Errorf("%s: %g of %g, want a share of %g", operation, count, n, share)
		}
	}
	if len(counts) != len(want) {
		t.Errorf("operations %v, want %v", counts, want)
	}
}

// field is a parameter's value in every request that has it.
func field(all []made, name string) (values []string) {
	for _, m := range all {
		if m.query.Has(name) {
			values = append(values, m.query.Get(name))
		}
	}
	return values
}

func TestReadHomeTimeline(t *testing.T) {
	all := drawn(t, 20_000, Options{Path: "social-read-home-timeline.lua", Seed: 1})
	shares(t, all, map[string]float64{"GET /wrk2-api/home-timeline/read": 1})
	uniform(t, field(all, "user_id"), 962)
	uniform(t, field(all, "start"), 101)
	for _, m := range all {
		start, _ := strconv.Atoi(m.query.Get("start"))
		if stop := m.query.Get("stop"); stop != strconv.Itoa(start+10) || len(m.query) != 3 {
			t.Fatalf("%s", m.line)
		}
		want := "GET http://localhost:8080/wrk2-api/home-timeline/read?user_id="
		if !strings.HasPrefix(m.line, want) || m.head != "Host: localhost:8080\r\nContent-Type: application/x-www-form-urlencoded\r\n" {
			t.Fatalf("%q %q", m.line, m.head)
		}
	}
}

var composed = regexp.MustCompile(`^username=username_(\d+)&user_id=(\d+)&text=([A-Za-z0-9]{256})((?: @username_\d+)*)((?: http://[A-Za-z0-9]{64})*)` +
	`&media_ids=\[((?:"\d{18}",?)*)\]&media_types=\[((?:"png",?)*)\]&post_type=0$`)

func TestComposePost(t *testing.T) {
	all := drawn(t, 2_000, Options{Path: "social-compose-post.lua", Seed: 2, Env: map[string]string{"max_user_index": "100"}})
	shares(t, all, map[string]float64{"POST /wrk2-api/post/compose": 1})
	var users, mentions, urls, media []string
	letters := strings.Builder{}
	for _, m := range all {
		parts := composed.FindStringSubmatch(m.body) // not URL-encoded: spaces, quotes and brackets as they are
		if parts == nil {
			t.Fatalf("body %q", m.body)
		}
		user, _ := strconv.Atoi(parts[1])
		if parts[1] != parts[2] || user < 0 || user > 99 || strings.Contains(parts[4]+" ", "@username_"+parts[1]+" ") {
			t.Fatalf("body %q", m.body)
		}
		users = append(users, parts[1])
		mentions = append(mentions, strconv.Itoa(strings.Count(parts[4], "@")))
		urls = append(urls, strconv.Itoa(strings.Count(parts[5], "http")))
		media = append(media, strconv.Itoa(strings.Count(parts[6], ",")+1))
		if strings.Count(parts[6], ",") != strings.Count(parts[7], ",") {
			t.Fatalf("body %q", m.body)
		}
		letters.WriteString(parts[3][:8])
	}
	uniform(t, users, 100)
	uniform(t, mentions, 6) // 1 to 6: the loop from 0 to random(0, 5) includes both
	uniform(t, urls, 6)
	uniform(t, media, 5)
	uniform(t, strings.Split(letters.String(), ""), 62)
}

func TestMixedSocialWorkload(t *testing.T) {
	env := map[string]string{"max_user_index": "50", "text_len": "16", "num_user_mentions": "2", "start": "20", "stop": "40"}
	all := drawn(t, 20_000, Options{Path: "social-mixed-workload.lua", Seed: 3, Env: env})
	shares(t, all, map[string]float64{
		"GET /wrk2-api/home-timeline/read": 0.6, "GET /wrk2-api/user-timeline/read": 0.3, "POST /wrk2-api/post/compose": 0.1,
	})
	uniform(t, field(all, "user_id"), 50)
	body := regexp.MustCompile(`^username=username_(\d+)&user_id=(\d+)&text=\w{16}( @username_\d+){3}&media_ids=\[\]&media_types=\[\]&post_type=0$`)
	for _, m := range all {
		if m.body == "" && (m.query.Get("start") != "20" || m.query.Get("stop") != "40") {
			t.Fatal(m.line)
		}
		if parts := body.FindStringSubmatch(m.body); m.body != "" && (parts == nil || parts[1] != parts[2]) {
			t.Fatalf("body %q", m.body)
		}
	}
}

func TestComposeReview(t *testing.T) {
	all := drawn(t, 2_000, Options{Path: "media-compose-review.lua", Seed: 4, Args: []string{"http://10.0.0.1:8080/wrk2-api/review/compose"}})
	// The published instruction gives a path in the argument, to which the script adds the path once more.
	shares(t, all, map[string]float64{"POST /wrk2-api/review/compose/wrk2-api/review/compose": 1})
	form := regexp.MustCompile(`^username=username_(\d+)&password=password_(\d+)&title=([A-Za-z0-9.+%-]+)&rating=(\d+)&text=(\w{256})$`)
	var titles, ratings, users []string
	for _, m := range all {
		parts := form.FindStringSubmatch(m.body)
		if parts == nil || parts[1] != parts[2] {
			t.Fatalf("body %q", m.body)
		}
		title, err := url.QueryUnescape(parts[3])
		if err != nil {
			t.Fatal(err)
		}
		user, _ := strconv.Atoi(parts[1])
		titles, ratings, users = append(titles, title), append(ratings, parts[4]), append(users, strconv.Itoa((user-1)/100))
	}
	uniform(t, titles, 5)
	uniform(t, ratings, 11)
	uniform(t, users, 10) // 1 to 1000, in hundreds
	for _, want := range []string{"The Long Way", "Über den Bergen", "100% Proof", "Fish & Chips", "Who? Me!"} {
		if !strings.Contains(strings.Join(titles, "\n"), want) {
			t.Errorf("no title %q", want)
		}
	}
}

func TestMixedHotelWorkload(t *testing.T) {
	all := drawn(t, 20_000, Options{Path: "hotel-mixed-workload.lua", Seed: 5})
	shares(t, all, map[string]float64{
		"GET /hotels": 0.6, "GET /recommendations": 0.39, "POST /user": 0.005, "POST /reservation": 0.005,
	})
	var latitudes, longitudes []string
	stays := map[int]int{}
	for _, m := range all {
		if !strings.HasPrefix(strings.Fields(m.line)[1], "http://localhost:5000/") || m.body != "" {
			t.Fatalf("%s", m.line)
		}
		switch m.operation {
		case "GET /hotels":
			from, to := day(t, m.query.Get("inDate")), day(t, m.query.Get("outDate"))
			if from < 9 || from > 23 || to <= from || to > 24 {
				t.Fatal(m.line)
			}
			fallthrough
		case "GET /recommendations":
			latitudes, longitudes = append(latitudes, m.query.Get("lat")), append(longitudes, m.query.Get("lon"))
		case "POST /user":
			id := strings.TrimPrefix(m.query.Get("username"), "Cornell_")
			if n, err := strconv.Atoi(id); err != nil || n < 0 || n > 500 || m.query.Get("password") != strings.Repeat(id, 10) {
				t.Fatal(m.line)
			}
		case "POST /reservation":
			hotel, _ := strconv.Atoi(m.query.Get("hotelId"))
			stays[day(t, m.query.Get("outDate"))-day(t, m.query.Get("inDate"))]++
			if hotel < 1 || hotel > 80 || m.query.Get("lat") != "nil" || m.query.Get("customerName") != m.query.Get("username") {
				t.Fatal(m.line)
			}
		}
	}
	// Steps of 0.001: LuaJIT writes three decimals, never 38.263999999999996.
	short := regexp.MustCompile(`^-?\d+(\.\d{1,3})?$`)
	for _, value := range append(latitudes, longitudes...) {
		if !short.MatchString(value) {
			t.Fatalf("%s has more than three decimals", value)
		}
	}
	uniform(t, latitudes, 482)
	uniform(t, longitudes, 326)
	uniform(t, field(all, "require"), 3) // 0.33, 0.33, 0.34
	if len(stays) != 5 || stays[1] == 0 || stays[5] == 0 {
		t.Errorf("stays %v, want 1 to 5 days", stays)
	}
}

// The example of the documentation, with its arguments and environment.
func TestTheDocumentedScript(t *testing.T) {
	all := drawn(t, 5_000, Options{
		Path: "../../../../docs/how-to/scripts/mixed.lua", Seed: 6, Args: []string{"0.8"}, Env: map[string]string{"max_user_index": "100"},
	})
	shares(t, all, map[string]float64{"GET /hotels": 0.8, "POST /user": 0.2})
	uniform(t, field(all, "username"), 101)
}

// day is the day of April 2015.
func day(t testing.TB, date string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(date, "2015-04-"))
	if err != nil || len(date) != len("2015-04-09") {
		t.Fatalf("%q is no date", date)
	}
	return n
}

func TestTheSamePlanMakesTheSameRequests(t *testing.T) {
	for _, path := range []string{
		"social-read-home-timeline.lua", "social-compose-post.lua", "social-mixed-workload.lua", "media-compose-review.lua",
		"hotel-mixed-workload.lua",
	} {
		requests := func(seed uint64, thread int) string {
			var lines strings.Builder
			for _, m := range drawn(t, 50, Options{Path: path, Seed: seed, Thread: thread}) {
				lines.WriteString(m.line + m.head + m.body)
			}
			return lines.String()
		}
		first := requests(1, 0)
		switch {
		case requests(1, 0) != first:
			t.Errorf("%s: other requests in the second run", path)
		case requests(2, 0) == first:
			t.Errorf("%s: the seed changes nothing", path)
		case requests(1, 1) == first:
			t.Errorf("%s: two threads make the same requests", path)
		}
	}
}
