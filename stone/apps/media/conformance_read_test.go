package media_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	idl "loadstone.dev/stone/apps/media/idl/media"
)

func testLoggingIn(t *testing.T, s *subject) {
	const path = "/wrk2-api/user/login"
	user := s.user(t)
	got := s.post(t, path, "username="+user, "password=password")
	got.expect(t, "login", 200, "{")
	var answer struct{ Token string }
	got.decode(t, &answer)
	if strings.Count(answer.Token, ".") != 2 {
		t.Errorf("token %q", answer.Token)
	}
	s.eachLess(t, path, "username="+user, "password=password")
	for name, password := range map[string]string{user: "Password", s.name("nobody"): "password", "no name": "password", "\xff": "\xff"} {
		s.fails(t, s.post(t, path, "username="+name, "password="+password), name, 401, "the username or the password is wrong\n")
	}
}

func testReadingPages(t *testing.T, s *subject) {
	user, film := s.user(t), s.film(t)
	empty := s.get(t, "/wrk2-api/page", "movie_id="+film.id, "start=0", "stop=10")
	empty.expect(t, "no reviews", 200, "{")
	if !strings.Contains(empty.body, `"reviews":[]`) {
		t.Errorf("an empty list is not written []: %s", empty.body)
	}
	for i := range 5 {
		s.post(t, "/wrk2-api/review/compose", review(user, film.title, fmt.Sprint(i), fmt.Sprintf("text %d", i))...).expect(t, "a review", 200, "")
	}
	page := s.page(t, film.id, 0, 10)
	info := page.MovieInfo
	if info.MovieID != film.id || info.Title != film.title || info.AvgRating != 7.5 || info.NumRating != 12 ||
		!slices.Equal(info.VideoIds, []string{"v", "w"}) || len(info.PhotoIds) != 0 || len(info.Casts) != 1 || info.Casts[0].Character != "Hilda" {
		t.Errorf("%+v", info)
	}
	if len(page.CastInfos) != 1 || page.CastInfos[0].Name != "Vera Corvane" || page.CastInfos[0].CastInfoID != info.Casts[0].CastInfoID ||
		page.Plot != "Nothing happens." {
		t.Errorf("%+v", page)
	}
	for _, c := range []struct {
		start, stop int
		want        string
	}{
		{0, 10, "[text 4 text 3 text 2 text 1 text 0]"}, {0, 2, "[text 4 text 3]"}, {2, 4, "[text 2 text 1]"},
		{4, 1004, "[text 0]"}, {5, 10, "[]"}, {3, 3, "[]"},
	} {
		if got := fmt.Sprint(texts(s.page(t, film.id, c.start, c.stop).Reviews)); got != c.want {
			t.Errorf("%d to %d: %s, want %s", c.start, c.stop, got, c.want)
		}
	}
	byTitle := s.get(t, "/wrk2-api/page", "title="+film.title, "start=0", "stop=2")
	byTitle.expect(t, "by title", 200, "{")
	other := idl.NewPage()
	byTitle.decode(t, other)
	if other.MovieInfo.MovieID != film.id || len(other.Reviews) != 2 {
		t.Errorf("by title: %+v", other)
	}
}

func testOddPages(t *testing.T, s *subject) {
	film := s.film(t)
	id, start, stop := "movie_id="+film.id, "start=0", "stop=10"
	for _, less := range [][]string{{id, start}, {id, stop}, {start, stop}, {}} {
		s.get(t, "/wrk2-api/page", less...).expect(t, fmt.Sprint(less), 400, incomplete)
	}
	for _, odd := range [][]string{{id, "start=x", stop}, {id, start, "stop=1.5"}, {id, start, "stop=99999999999"}} {
		s.get(t, "/wrk2-api/page", odd...).expect(t, fmt.Sprint(odd), 400, "")
	}
	for _, nothing := range []string{"movie_id=" + s.name("none"), "movie_id=0"} {
		s.fails(t, s.get(t, "/wrk2-api/page", nothing, start, stop), nothing, 404, "there is no movie ")
	}
	title := s.name("None")
	s.fails(t, s.get(t, "/wrk2-api/page", "title="+title, start, stop), "no such title", 404, "Movie "+title+" is not registered")
	s.fails(t, s.get(t, "/wrk2-api/page", "title="+film.title[:len(film.title)/2], start, stop), "half a title", 404, "Movie ")
	for _, broken := range []string{"\xff", "a\x00b"} {
		s.fails(t, s.get(t, "/wrk2-api/page", "title="+broken, start, stop), broken, 400, "title: ")
	}
	for _, reversed := range [][]string{{"start=-1", stop}, {"start=5", "stop=4"}, {start, "stop=1001"}, {start, "stop=-2147483648"}} {
		got := s.get(t, "/wrk2-api/page", append(reversed, id)...)
		if s.quirks { // published: nothing
			got.expect(t, fmt.Sprint(reversed), 200, "{")
		} else {
			got.expect(t, fmt.Sprint(reversed), 400, "st")
		}
	}
}

func testListingFilms(t *testing.T, s *subject) {
	const path = "/wrk2-api/movie/list"
	begin := s.name("List")
	titles := []string{begin + " A", begin + " B", begin + " a", begin + " É", begin + " é"} // in the order of bytes
	for _, i := range []int{3, 0, 4, 2, 1} {
		s.post(t, "/wrk2-api/movie/register", "title="+titles[i], "movie_id="+s.name("id")).expect(t, "registering", 200, "")
	}
	list := func(after, limit string) []string {
		t.Helper()
		got := s.get(t, path, "after="+after, "limit="+limit)
		got.expect(t, "list", 200, "[")
		var films []idl.MovieTitle
		got.decode(t, &films)
		var found []string
		for _, film := range films {
			found = append(found, film.Title)
			if film.MovieID == "" {
				t.Errorf("%+v", film)
			}
		}
		return found
	}
	if got := list(begin, "5"); !slices.Equal(got, titles) {
		t.Errorf("after %q: %q, want %q", begin, got, titles)
	}
	if got := list(titles[1], "2"); !slices.Equal(got, titles[2:4]) {
		t.Errorf("after %q: %q, want %q", titles[1], got, titles[2:4])
	}
	s.get(t, path, "after=\U0010ffff").expect(t, "after the last", 200, "[]")
	s.get(t, path).expect(t, "from the beginning", 200, "[{")
	for _, limit := range []string{"0", "-1", "1001", "x"} {
		s.get(t, path, "limit="+limit).expect(t, "limit "+limit, 400, "limit: ")
	}
	s.get(t, path, "after=\xff").expect(t, "broken", 400, "after: not UTF-8")
}
