package media_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"loadstone.dev/stone/apps/media/data"
	"loadstone.dev/stone/platform/browsertest"
	"loadstone.dev/stone/platform/documents"
)

// TestPagesInABrowser finds a seeded film, registers, reviews it and finds the review again.
func TestPagesInABrowser(t *testing.T) {
	a := startApp(t, "")
	for number := 1; number <= 60; number++ {
		film := data.FilmAt(number)
		check(t, data.MovieIDs.In(a.store).Insert(t.Context(), data.MovieID{Title: film.Info.Title, MovieID: film.Info.MovieID}))
		check(t, data.MovieInfos.In(a.store).Insert(t.Context(), film.Info))
		check(t, data.Plots.In(a.store).Insert(t.Context(), film.Plot))
	}
	actors := []documents.Keyed{}
	for _, cast := range data.FilmAt(1).Info.Casts {
		actor := data.Person(int(cast.CastInfoID))
		actors = append(actors, documents.Keyed{Key: actor.Name, Document: actor})
	}
	check(t, data.CastInfos.In(a.store).Put(t.Context(), actors...))
	film, first := data.FilmAt(1), actors[0].Key

	b := browsertest.New(t, a.URL("frontend"))
	b.Open("/")
	b.See("films", "main", "More films")
	b.Do(chromedp.Click(`a[rel="next"]`))
	b.See("films-further", "main", "From the beginning")
	b.Do(chromedp.SendKeys("#q", film.Info.Title[:10]+"\r"))
	b.See("films-found", ".people", film.Info.Title)
	b.Do(chromedp.Click(".people a"))
	b.See("film", "table", first)
	b.See("film", "main", film.Plot.Plot)

	// Registering from a film's page leads back to it. By keyboard alone: the fields follow one another, Enter sends.
	b.Do(chromedp.Click(`header a[href^="/register"]`))
	b.See("register", "h1", "Register")
	b.Do(chromedp.Focus("#first_name"), chromedp.KeyEvent("Ann\tLee\tann\tword of ann\r"))
	b.See("film-to-review", "h1", film.Info.Title)
	b.Do(chromedp.SetValue("#rating", "9"),
		chromedp.SendKeys("#text", "Fine <script>document.title='stolen'</script><img src=x onerror=\"document.title='stolen'\">"),
		chromedp.Click(`main form button`))
	b.See("film-reviewed", ".post .text", "<script>document.title='stolen'</script>")
	b.See("film-reviewed", ".post", "9 of 10")
	b.Expect("a script of a review ran or is there",
		`document.title === "`+film.Info.Title+`" && document.scripts.length === 0 && document.images.length === 0`)
	b.Dark(true)
	b.See("film-dark", "h1", film.Info.Title)
	b.Dark(false)
	b.Size(360, 700)
	b.See("film-narrow", "h1", film.Info.Title)
	b.Size(900, 800)
	b.Do(chromedp.Click(`header a[href^="/user/"]`))
	b.See("user", ".post", film.Info.Title)
	b.Do(chromedp.Click("header form button"))
	b.See("logged-out", "header", "Log in")
	b.Open("/login?next=/film/1")
	b.Do(chromedp.SendKeys("#username", "ann"), chromedp.SendKeys("#password", "wrong\r"))
	b.See("login-refused", "[role=alert]", "the username or the password is wrong")
	b.Do(chromedp.SendKeys("#password", "word of ann\r"))
	b.See("film-again", "main", "Write a review")
	b.Open("/film/none")
	b.See("problem", "[role=alert]", "there is no movie none")
}
