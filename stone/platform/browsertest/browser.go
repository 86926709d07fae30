// Package browsertest uses pages as people do, in a Chromium without a window.
package browsertest

import (
	"context"
	_ "embed"
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
//go:embed accessible.js
var accessible string

// Browser is a Chromium of its own.
type Browser struct {
	t     *testing.T
	base  string
	ctx   context.Context
	shots string
}

// New starts a browser for the pages whose addresses begin with base; it skips the test where there is none. Screenshots
// go to the folder STONE_SCREENSHOTS, if it is set.
func New(t *testing.T, base string) *Browser {
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
	b := &Browser{t: t, base: base, ctx: ctx, shots: os.Getenv("STONE_SCREENSHOTS")}
	if b.shots == "" {
		b.shots = t.TempDir()
	}
	return b
}

// Ask runs an action that returns something.
func Ask[T any](b *Browser, action chromedp.Action[T]) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// Do acts and waits for the page that this leads to.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if _, err := chromedp.RunResponse(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// Open opens a page by its path.
func (b *Browser) Open(path string) { b.t.Helper(); b.Do(chromedp.Navigate(b.base + path)) }

// See takes a screenshot of a page that says something, and finds what is hard to use in it.
func (b *Browser) See(name, where, says string) {
	b.t.Helper()
	if text := Ask(b, chromedp.Text(where)); !strings.Contains(text, says) {
		b.t.Fatalf("%s says %q, not %q", name, text, says)
	}
	for _, wrong := range Ask(b, chromedp.Evaluate[[]string](accessible)) {
		b.t.Errorf("%s: %s", name, wrong)
	}
	shot := Ask(b, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(b.shots, name+".png"), shot, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// Expect fails unless an expression holds.
func (b *Browser) Expect(complaint, expression string) {
	b.t.Helper()
	if !Ask(b, chromedp.Evaluate[bool](expression)) {
		b.t.Error(complaint)
	}
}

// Dark has pages in the colours for the dark, or not.
func (b *Browser) Dark(on bool) {
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

// Size makes the window so wide and so high, in pixels.
func (b *Browser) Size(width, height int64) {
	b.t.Helper()
	Ask(b, chromedp.EmulateViewport(width, height))
}
