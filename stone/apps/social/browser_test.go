package social_test

import (
	"context"
	_ "embed"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// accessible returns what is wrong with a page for those who do not see it, or not well.
//
//go:embed accessible_test.js
var accessible string

// TestPagesInABrowser uses the pages as two people do, in a Chromium without a window. Screenshots go to the folder
// STONE_SCREENSHOTS, if it is set.
func TestPagesInABrowser(t *testing.T) {
	b := newBrowser(t, startApp(t, "").URL("frontend"))
	b.open("/")
	b.see("login", "h1", "Log in")
	b.signUp("ann")
	b.see("home-empty", "main", "Nothing yet")
	b.logOut()
	b.signUp("bob")
	b.do(chromedp.SendKeys("#name", "ann\r"))
	b.see("profile-to-follow", "main", "No posts yet.")
	b.do(chromedp.Click(".person button"))
	b.see("profile-followed", ".person", "1 follower")
	b.logOut()

	// By keyboard alone: the fields follow one another, Enter sends.
	b.do(chromedp.Focus("#username"), chromedp.KeyEvent("ann\tword of ann\r"))
	b.do(chromedp.SendKeys("#text", "Hello @bob, see https://example.org/page <script>document.title='stolen'</script>"+
		`<img src=x onerror="document.title='stolen'">`), chromedp.SetUploadFiles("#pictures", []string{b.picture()}), chromedp.Click("main .card button"))
	b.see("profile-with-post", ".post .text", "<script>document.title='stolen'</script>")
	b.logOut()

	b.logIn("bob")
	b.see("home", ".post .text", `onerror="document.title='stolen'"`)
	b.expect("the picture is not shown", `document.querySelector('.post img').naturalWidth === 64`)
	b.expect("a script of a post ran or is there", `document.title === 'Home – Social Network' && document.scripts.length === 0`)
	b.expect("the address is no safe link", `[...document.querySelectorAll('.text a')].some(a => a.href.startsWith('https://example.org/page') && a.rel === 'nofollow noopener')`)
	b.expect("the mention is no link", `[...document.querySelectorAll('.text a')].some(a => a.pathname === '/users/bob')`)
	b.dark(true)
	b.see("home-dark", "h1", "Home")
	b.dark(false)
	ask(b, chromedp.EmulateViewport(360, 700))
	b.see("home-narrow", "h1", "Home")
	ask(b, chromedp.EmulateViewport(900, 800))
	b.do(chromedp.Click(`nav a[href$="/followees"]`))
	b.see("contacts", ".people", "ann")
	b.do(chromedp.Click(`.people button`))
	b.see("profile-unfollowed", ".person", "0 followers")
	b.open("/users/nobody")
	b.see("not-found", "[role=alert]", "not registered")
	b.open("/compose")
	b.see("compose", "h1", "Write a post")
	b.logOut()
	b.open("/home")
	b.do(chromedp.SendKeys("#username", "bob"), chromedp.SendKeys("#password", "wrong\r"))
	b.see("login-refused", "[role=alert]", "Incorrect username or password")
}

// browser is a Chromium of its own.
type browser struct {
	t     *testing.T
	base  string
	ctx   context.Context
	shots string
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Skip("chromium is not installed; install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(900, 800),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, base: base, ctx: ctx, shots: os.Getenv("STONE_SCREENSHOTS")}
	if b.shots == "" {
		b.shots = t.TempDir()
	}
	return b
}

// ask runs an action that returns something.
func ask[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// do acts and waits for the page that this leads to.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if _, err := chromedp.RunResponse(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) open(path string) { b.t.Helper(); b.do(chromedp.Navigate(b.base + path)) }

// see takes a screenshot of a page that says something, and finds what is hard to use in it.
func (b *browser) see(name, where, says string) {
	b.t.Helper()
	if text := ask(b, chromedp.Text(where)); !strings.Contains(text, says) {
		b.t.Fatalf("%s says %q, not %q", name, text, says)
	}
	for _, wrong := range ask(b, chromedp.Evaluate[[]string](accessible)) {
		b.t.Errorf("%s: %s", name, wrong)
	}
	shot := ask(b, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(b.shots, name+".png"), shot, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// expect fails unless an expression holds.
func (b *browser) expect(complaint, expression string) {
	b.t.Helper()
	if !ask(b, chromedp.Evaluate[bool](expression)) {
		b.t.Error(complaint)
	}
}

func (b *browser) dark(on bool) {
	b.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) signUp(name string) {
	b.t.Helper()
	b.open("/signup.html")
	b.see("signup", "h1", "Sign up")
	b.do(chromedp.SendKeys("#first_name", "F"), chromedp.SendKeys("#last_name", "L"), chromedp.SendKeys("#username", name),
		chromedp.SendKeys("#password", "word of "+name), chromedp.Click("main button"))
}

func (b *browser) logIn(name string) {
	b.t.Helper()
	b.do(chromedp.SendKeys("#username", name), chromedp.SendKeys("#password", "word of "+name), chromedp.Click("main button"))
}

func (b *browser) logOut() {
	b.t.Helper()
	b.do(chromedp.Click(`header form button`))
	b.see("logged-out", "h1", "Log in")
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
