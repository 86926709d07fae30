package media_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func testRegistering(t *testing.T, s *subject) {
	const path = "/wrk2-api/user/register"
	named := func(name string) []string {
		return []string{"first_name=First", "last_name=Last", "username=" + name, "password=password"}
	}
	taken := s.user(t)
	s.fails(t, s.post(t, path, named(taken)...), "a name that is taken", 409, "User "+taken+" already existed")
	s.eachLess(t, path, named(s.name("user"))...)
	for _, name := range []string{"two words", "é", "a\x00b", "\xff", "<b>", strings.Repeat("x", 1000)} {
		s.fails(t, s.post(t, path, named(name)...), fmt.Sprintf("name %.20q", name), 400, "")
	}
	for i, wrong := range map[int]string{0: "first_name=\xff", 1: "last_name=" + strings.Repeat("x", 2000), 3: "password=" + strings.Repeat("x", 73)} {
		odd := named(s.name("user"))
		odd[i] = wrong
		s.fails(t, s.post(t, path, odd...), fmt.Sprintf("%.20q", wrong), 400, "")
	}
	s.get(t, path, named(s.name("user"))...).expect(t, "by a query", 200, "")
}

func testRegisteringFilms(t *testing.T, s *subject) {
	const path = "/wrk2-api/movie/register"
	id, title := s.name("id"), s.name("Title & <b>ümlaut</b>")
	s.post(t, path, "title="+title, "movie_id="+id).expect(t, "a film", 200, "")
	s.fails(t, s.post(t, path, "title="+title, "movie_id="+s.name("id")), "a title that is taken", 409, "")
	s.fails(t, s.post(t, path, "title="+s.name("Title"), "movie_id="+id), "an id that is taken", 409, "")
	s.eachLess(t, path, "title="+s.name("Title"), "movie_id="+s.name("id"))
	for _, odd := range []string{"a\x00b", "\xff", strings.Repeat("x", 2000)} {
		s.fails(t, s.post(t, path, "title="+odd, "movie_id="+s.name("id")), fmt.Sprintf("title %.20q", odd), 400, "title: ")
		s.fails(t, s.post(t, path, "title="+s.name("Title"), "movie_id="+odd), fmt.Sprintf("id %.20q", odd), 400, "movie_id: ")
	}
}

func testComposing(t *testing.T, s *subject) {
	user, film := s.user(t), s.film(t)
	text := "<script>alert(1)</script>\n& so on, ümlaut %41 +"
	s.post(t, "/wrk2-api/review/compose", review(user, film.title, "7", text)...).expect(t, "a review", 200, "")
	reviews := s.page(t, film.id, 0, 10).Reviews
	if len(reviews) != 1 || reviews[0].Text != text || reviews[0].Rating != 7 || reviews[0].MovieID != film.id ||
		reviews[0].ReviewID <= 0 || reviews[0].UserID <= 0 || reviews[0].ReqID < 0 || reviews[0].Timestamp < 1e12 {
		t.Errorf("%+v", reviews)
	}
	// As load scripts send it: nothing is encoded.
	body := "username=" + user + "&password=wrong&title=" + film.title + "&rating=0&text=as it is, 100% of it"
	s.send(t, "POST", "/wrk2-api/review/compose", "", body).expect(t, "not encoded", 200, "")
	reviews = s.page(t, film.id, 0, 10).Reviews
	if len(reviews) != 2 || reviews[0].Text != "as it is, 100% of it" || reviews[0].Rating != 0 || reviews[1].Text != text {
		t.Errorf("%+v", reviews)
	}
	if reviews[0].ReviewID == reviews[1].ReviewID || reviews[0].ReqID == reviews[1].ReqID {
		t.Errorf("ids are there twice: %+v", reviews)
	}
	longest := strings.Repeat("x", 64<<10)
	s.post(t, "/wrk2-api/review/compose", review(user, film.title, "10", longest)...).expect(t, "the longest text", 200, "")
	if reviews = s.page(t, film.id, 0, 1).Reviews; reviews[0].Text != longest {
		t.Errorf("%d bytes of text, want %d", len(reviews[0].Text), len(longest))
	}
}

// What is refused is stored nowhere.
func testOddReviews(t *testing.T, s *subject) {
	const path = "/wrk2-api/review/compose"
	user, film := s.user(t), s.film(t)
	unknown, nothing := s.name("nobody"), s.name("Nothing")
	s.eachLess(t, path, review(user, film.title, "7", "text")...)
	s.fails(t, s.post(t, path, review(unknown, film.title, "7", "text")...), "nobody", 404, "User "+unknown+" is not registered")
	s.fails(t, s.post(t, path, review("no body\x00", film.title, "7", "text")...), "no name", 404, "User ")
	s.fails(t, s.post(t, path, review(user, nothing, "7", "text")...), "no film", 404, "Movie "+nothing+" is not registered")
	s.fails(t, s.post(t, path, review(user, "\xff", "7", "text")...), "broken title", 400, "title: not UTF-8")
	for _, rating := range []string{"x", "7.5", "7 ", "0x7", "99999999999", "１"} {
		s.post(t, path, review(user, film.title, rating, "text")...).expect(t, "rating "+rating, 400, "rating: ")
	}
	for _, text := range []string{"\xff", "a\x00b", strings.Repeat("x", 64<<10+1), strings.Repeat("x", 1<<20-1000)} {
		s.fails(t, s.post(t, path, review(user, film.title, "7", text)...), fmt.Sprintf("%d bytes %.10q", len(text), text), 400, "text: ")
	}
	s.post(t, path, review(user, film.title, "7", strings.Repeat("x", 1<<20))...).expect(t, "a body of 1 MB", 413, "body: more than ")
	if reviews := s.page(t, film.id, 0, 10).Reviews; len(reviews) != 0 {
		t.Errorf("stored: %.300v", reviews)
	}
	for _, rating := range []string{"-1", "11"} {
		got := s.post(t, path, review(user, film.title, rating, "text")...)
		if s.quirks { // published: any number
			got.expect(t, "rating "+rating, 200, "")
		} else {
			got.expect(t, "rating "+rating, 400, "rating: "+rating+" is not from 0 to 10")
		}
	}
}

// Load scripts double the path; methods are not enforced.
func testOddAddresses(t *testing.T, s *subject) {
	user, film := s.user(t), s.film(t)
	s.post(t, "/wrk2-api/review/compose/wrk2-api/review/compose", review(user, film.title, "7", "doubled")...).expect(t, "doubled", 200, "")
	s.get(t, "/wrk2-api/review/compose", review(user, film.title, "7", "by a query")...).expect(t, "by a query", 200, "")
	if got := texts(s.page(t, film.id, 0, 10).Reviews); fmt.Sprint(got) != "[by a query doubled]" {
		t.Errorf("%q", got)
	}
	s.post(t, "/wrk2-api/nothing").expect(t, "no such path", 404, "")
	s.post(t, "/api/review/compose").expect(t, "a path that was never published", 404, "")
}

func testDescribingFilms(t *testing.T, s *subject) {
	const path = "/wrk2-api/movie-info/write"
	body := filmBody(s.name("id"), "A Title")
	body["avg_rating"] = "6.25" // a text
	body["casts"] = []any{
		map[string]any{"cast_id": 1, "character": "Right", "cast_info_id": 5},
		map[string]any{"cast_id": 2, "charactor": "Misspelt", "cast_info_id": 6},
	}
	s.postJSON(t, path, body).expect(t, "a film", 200, "6.25")
	s.fails(t, s.postJSON(t, path, body), "the same film", 409, "")
	s.everyField(t, path, filmBody(s.name("id"), "B"))
	for key, values := range map[string][]any{
		"movie_id": {5, "\x00", strings.Repeat("x", 2000)}, "title": {5, "\x00"}, "casts": {"x", []any{5}}, "plot_id": {"x", -1, 1.5},
		"thumbnail_ids": {"x", []any{5}}, "avg_rating": {"x", true, "1e999"}, "num_rating": {"x", -1, 1 << 40},
	} {
		for _, value := range values {
			odd := filmBody(s.name("id"), "C")
			odd[key] = value
			s.refused(t, s.postJSON(t, path, odd), fmt.Sprintf("%s %.20v", key, value))
		}
	}
	s.brokenBodies(t, path)
}

func testDescribingActors(t *testing.T, s *subject) {
	const path = "/wrk2-api/cast-info/write"
	body := map[string]any{"cast_info_id": s.number(), "name": "Name", "gender": true, "intro": ""}
	s.postJSON(t, path, body).expect(t, "an actor", 200, "")
	s.fails(t, s.postJSON(t, path, body), "the same actor", 409, "")
	body["cast_info_id"] = s.number()
	s.everyField(t, path, body)
	for key, values := range map[string][]any{"cast_info_id": {"x", -1}, "name": {5, "\x00"}, "gender": {"x", 2}, "intro": {5, "\x00"}} {
		for _, value := range values {
			odd := maps.Clone(body)
			odd[key] = value
			s.refused(t, s.postJSON(t, path, odd), fmt.Sprintf("%s %q", key, value))
		}
	}
	s.brokenBodies(t, path)
}

func testDescribingPlots(t *testing.T, s *subject) {
	const path = "/wrk2-api/plot/write"
	body := map[string]any{"plot_id": s.number(), "plot": "Plot"}
	s.postJSON(t, path, body).expect(t, "a plot", 200, "")
	s.fails(t, s.postJSON(t, path, body), "the same plot", 409, "")
	s.everyField(t, path, map[string]any{"plot_id": s.number(), "plot": "Plot"})
	for key, values := range map[string][]any{"plot_id": {"x", -1}, "plot": {5, "\x00", strings.Repeat("x", 64<<10+1)}} {
		for _, value := range values {
			odd := map[string]any{"plot_id": s.number(), "plot": "Plot"}
			odd[key] = value
			s.refused(t, s.postJSON(t, path, odd), fmt.Sprintf("%s %.20v", key, value))
		}
	}
	s.brokenBodies(t, path)
}

// everyField sends a body without each of its fields in turn.
func (s *subject) everyField(t *testing.T, path string, body map[string]any) {
	t.Helper()
	for key := range body {
		less := maps.Clone(body)
		delete(less, key)
		s.postJSON(t, path, less).expect(t, "without "+key, 400, incomplete)
		less[key] = nil
		s.postJSON(t, path, less).expect(t, "null as "+key, 400, incomplete)
	}
}

func (s *subject) brokenBodies(t *testing.T, path string) {
	t.Helper()
	for _, body := range []string{"", "{", "[]", "5", "{} {}", "\"\xff\"", "a=b"} {
		s.send(t, "POST", path, "application/json", body).expect(t, fmt.Sprintf("body %q", body), 400, "body: ")
	}
	large := `{"plot": "` + strings.Repeat("x", 1<<20) + `"}`
	s.send(t, "POST", path, "application/json", large).expect(t, "a large body", 413, "body: more than 1048576 bytes")
}

// refused expects a 400, or what a service's refusal is published as.
func (s *subject) refused(t *testing.T, got reply, what string) {
	t.Helper()
	if got.status != 400 && !(s.quirks && got.status == 500) || got.body == "" {
		t.Errorf("%s: %d %q", what, got.status, got.body)
	}
}
