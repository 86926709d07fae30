package social_test

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"loadstone.dev/stone/platform/browsertest"
)

// TestPagesInABrowser uses the pages as two people do.
func TestPagesInABrowser(t *testing.T) {
	b := &browser{browsertest.New(t, startApp(t, "").URL("frontend")), t}
	b.Open("/")
	b.See("login", "h1", "Log in")
	b.signUp("ann")
	b.See("home-empty", "main", "Nothing yet")
	b.logOut()
	b.signUp("bob")
	b.Do(chromedp.SendKeys("#name", "ann\r"))
	b.See("profile-to-follow", "main", "No posts yet.")
	b.Do(chromedp.Click(".person button"))
	b.See("profile-followed", ".person", "1 follower")
	b.logOut()

	// By keyboard alone: the fields follow one another, Enter sends.
	b.Do(chromedp.Focus("#username"), chromedp.KeyEvent("ann\tword of ann\r"))
	b.Do(chromedp.SendKeys("#text", "Hello @bob, see https://example.org/page <script>document.title='stolen'</script>"+
		`<img src=x onerror="document.title='stolen'">`), chromedp.SetUploadFiles("#pictures", []string{b.picture()}), chromedp.Click("main .card button"))
	b.See("profile-with-post", ".post .text", "<script>document.title='stolen'</script>")
	b.logOut()

	b.logIn("bob")
	b.See("home", ".post .text", `onerror="document.title='stolen'"`)
	b.Expect("the picture is not shown", `document.querySelector('.post img').naturalWidth === 64`)
	b.Expect("a script of a post ran or is there", `document.title === 'Home – Social Network' && document.scripts.length === 0`)
	b.Expect("the address is no safe link", `[...document.querySelectorAll('.text a')].some(a => a.href.startsWith('https://example.org/page') && a.rel === 'nofollow noopener')`)
	b.Expect("the mention is no link", `[...document.querySelectorAll('.text a')].some(a => a.pathname === '/users/bob')`)
	b.Dark(true)
	b.See("home-dark", "h1", "Home")
	b.Dark(false)
	b.Size(360, 700)
	b.See("home-narrow", "h1", "Home")
	b.Size(900, 800)
	b.Do(chromedp.Click(`nav a[href$="/followees"]`))
	b.See("contacts", ".people", "ann")
	b.Do(chromedp.Click(`.people button`))
	b.See("profile-unfollowed", ".person", "0 followers")
	b.Open("/users/nobody")
	b.See("not-found", "[role=alert]", "not registered")
	b.Open("/compose")
	b.See("compose", "h1", "Write a post")
	b.logOut()
	b.Open("/home")
	b.Do(chromedp.SendKeys("#username", "bob"), chromedp.SendKeys("#password", "wrong\r"))
	b.See("login-refused", "[role=alert]", "Incorrect username or password")
}

// browser is a person's.
type browser struct {
	*browsertest.Browser
	t *testing.T
}

func (b *browser) signUp(name string) {
	b.t.Helper()
	b.Open("/signup.html")
	b.See("signup", "h1", "Sign up")
	b.Do(chromedp.SendKeys("#first_name", "F"), chromedp.SendKeys("#last_name", "L"), chromedp.SendKeys("#username", name),
		chromedp.SendKeys("#password", "word of "+name), chromedp.Click("main button"))
}

func (b *browser) logIn(name string) {
	b.t.Helper()
	b.Do(chromedp.SendKeys("#username", name), chromedp.SendKeys("#password", "word of "+name), chromedp.Click("main button"))
}

func (b *browser) logOut() {
	b.t.Helper()
	b.Do(chromedp.Click(`header form button`))
	b.See("logged-out", "h1", "Log in")
}

// picture is a file to upload.
func (b *browser) picture() string {
	b.t.Helper()
	drawn := image.NewRGBA(image.Rect(0, 0, 64, 48))
	for x := range 64 {
		for y := range 48 {
			drawn.Set(x, y, color.RGBA{uint8(x * 4), uint8(y * 5), 160, 255})
		}
	}
	path := filepath.Join(b.t.TempDir(), "sunset.png")
	file, err := os.Create(path)
	if err == nil {
		err = png.Encode(file, drawn)
	}
	if err != nil || file.Close() != nil {
		b.t.Fatal(err)
	}
	return path
}
