package social_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/servertest"
)

const (
	webp = "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
	mp4  = "\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41\x00\x00\x00\x08free"
)

// pictures are files by the endings of their names.
func pictures(t *testing.T) map[string][]byte {
	t.Helper()
	picture := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	encode := func(write func(io.Writer) error) []byte {
		var file bytes.Buffer
		if err := write(&file); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	asJPEG := encode(func(w io.Writer) error { return jpeg.Encode(w, picture, nil) })
	return map[string][]byte{
		"png": encode(func(w io.Writer) error { return png.Encode(w, picture) }),
		"gif": encode(func(w io.Writer) error { return gif.Encode(w, picture, nil) }),
		"jpg": asJPEG, "jpeg": asJPEG, "webp": []byte(webp), "mp4": []byte(mp4),
	}
}

// served is an answer over HTTP.
type served struct {
	status int
	header http.Header
	body   string
}

func request(t *testing.T, method, url string, header map[string]string, body io.Reader) served {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return served{response.StatusCode, response.Header, string(text)}
}

// upload sends a form with a field before the file.
func (a *app) upload(t *testing.T, name string, content []byte) served {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("comment", "holiday") // a buffer takes all
	file, _ := form.CreateFormFile("anything", name)
	_, _ = file.Write(content)
	_ = form.Close()
	return request(t, "POST", a.URL("media-frontend")+"/upload-media", map[string]string{"Content-Type": form.FormDataContentType()}, &body)
}

// uploaded is the name that an upload was given.
func uploaded(t *testing.T, answer served) (filename string) {
	t.Helper()
	var fields map[string]string
	err := json.Unmarshal([]byte(answer.body), &fields)
	if err != nil || answer.status != 200 || len(fields) != 2 || answer.header.Get("Content-Type") != "application/json" ||
		!regexp.MustCompile(`^[0-9]{1,19}$`).MatchString(fields["media_id"]) {
		t.Fatalf("upload: %+v, %v", answer, err)
	}
	return fields["media_id"] + "." + fields["media_type"]
}

func (a *app) getMedia(t *testing.T, method, filename string, header map[string]string) served {
	t.Helper()
	return request(t, method, a.URL("media-frontend")+"/get-media?filename="+filename, header, nil)
}

func TestMedia(t *testing.T) {
	for name, store := range map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongo": servertest.Mongo} {
		t.Run(name, func(t *testing.T) {
			a := startAppOn(t, "", store)
			t.Run("come back as they were sent", func(t *testing.T) { testMediaComeBack(t, a) })
			t.Run("are bounded", func(t *testing.T) { testLargeMedia(t, a) })
			t.Run("must be media", func(t *testing.T) { testWrongMedia(t, a) })
			t.Run("needs a correct request", func(t *testing.T) { testWrongRequests(t, a) })
		})
	}
}

func testMediaComeBack(t *testing.T, a *app) {
	types := map[string]string{
		"png": "image/png", "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp", "mp4": "video/mp4",
	}
	names := make(map[string]bool)
	for kind, content := range pictures(t) {
		name := uploaded(t, a.upload(t, "My picture."+strings.ToUpper(kind), content))
		if !strings.HasSuffix(name, "."+kind) || names[name] {
			t.Errorf("%s is named %s", kind, name)
		}
		names[name] = true
		got := a.getMedia(t, "GET", name, nil)
		if got.status != 200 || got.body != string(content) {
			t.Errorf("%s: %d, %d bytes, want %d", kind, got.status, len(got.body), len(content))
		}
		for header, want := range map[string]string{
			"Content-Type": types[kind], "X-Content-Type-Options": "nosniff", "Content-Length": fmt.Sprint(len(content)),
			"Cache-Control": "public, max-age=31536000, immutable", "Access-Control-Allow-Origin": "*",
			"Content-Security-Policy": "default-src 'none'; sandbox",
		} {
			if value := got.header.Get(header); value != want {
				t.Errorf("%s: %s is %q, want %q", kind, header, value, want)
			}
		}
		if part := a.getMedia(t, "GET", name, map[string]string{"Range": "bytes=1-3"}); part.status != 206 || part.body != string(content[1:4]) {
			t.Errorf("%s: a part: %d %q", kind, part.status, part.body)
		}
		if head := a.getMedia(t, "HEAD", name, nil); head.status != 200 || head.body != "" || head.header.Get("Content-Type") != types[kind] {
			t.Errorf("%s: head: %+v", kind, head)
		}
	}
}

func testLargeMedia(t *testing.T, a *app) {
	const largest = 16_000_000
	content := bytes.Repeat([]byte("\x00\xff pixels"), largest/9+1)
	copy(content, pictures(t)["png"])
	name := uploaded(t, a.upload(t, "a.png", content[:largest]))
	if got := a.getMedia(t, "GET", name, nil); got.status != 200 || got.body != string(content[:largest]) {
		t.Errorf("the largest: %d, %d bytes", got.status, len(got.body))
	}
	if got := a.upload(t, "a.png", content[:largest+1]); got.status != 413 || got.body != "file: more than 16000000 bytes\n" {
		t.Errorf("one byte more: %d %s", got.status, got.body)
	}
}

func testWrongMedia(t *testing.T, a *app) {
	files := pictures(t)
	before := a.count(t, data.Media)
	for name, wrong := range map[string]struct {
		content []byte
		says    string
	}{
		"a.svg":     {files["png"], `file name: "a.svg" does not end in a type of media; those are png, jpg, jpeg, gif, webp, mp4`},
		"a":         {files["png"], `file name: "a" does not`},
		"png":       {files["png"], `file name: "png" does not`},
		"a.png.exe": {files["png"], `file name: "a.png.exe" does not`},
		"a.png":     {files["gif"], "file: its content is image/gif, which is not png"},
		"a.gif":     {[]byte("<script>alert(1)</script>"), "file: its content is text/html; charset=utf-8, which is not gif"},
		"a.jpg":     {nil, "file: its content is text/plain; charset=utf-8, which is not jpg"},
		"a.mp4":     {files["webp"], "file: its content is image/webp, which is not mp4"},
	} {
		if got := a.upload(t, name, wrong.content); got.status != 400 || !strings.HasPrefix(got.body, wrong.says) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if now := a.count(t, data.Media); now != before {
		t.Errorf("%d files are stored, before %d", now, before)
	}
}

func testWrongRequests(t *testing.T, a *app) {
	form := map[string]string{"Content-Type": "multipart/form-data; boundary=b"}
	upload, get := a.URL("media-frontend")+"/upload-media", a.URL("media-frontend")+"/get-media"
	for what, wrong := range map[string]struct {
		got    served
		status int
		says   string
	}{
		"no form":      {request(t, "POST", upload, nil, strings.NewReader("x")), 400, "body: not multipart/form-data"},
		"no file":      {request(t, "POST", upload, form, strings.NewReader("--b\r\nContent-Disposition: form-data; name=x\r\n\r\nvalue\r\n--b--\r\n")), 400, "body: no file; send one"},
		"cut off":      {request(t, "POST", upload, form, strings.NewReader("--b\r\nContent-Disposition: form-data; name=x; filename=a.png\r\n\r\nval")), 400, "body: unexpected EOF"},
		"by GET":       {request(t, "GET", upload, nil, nil), 405, "only by POST, OPTIONS"},
		"by DELETE":    {request(t, "DELETE", get+"?filename=1.png", nil, nil), 405, "only by GET, HEAD, OPTIONS"},
		"no name":      {request(t, "GET", get, nil, nil), 400, "filename: missing"},
		"unknown":      {request(t, "GET", get+"?filename=1.png", nil, nil), 404, `there is no file "1.png"`},
		"a path":       {request(t, "GET", get+"?filename=../../etc/passwd", nil, nil), 404, "there is no file"},
		"a NUL":        {request(t, "GET", get+"?filename=%00", nil, nil), 400, "filename: "},
		"another path": {request(t, "GET", a.URL("media-frontend")+"/", nil, nil), 404, "404 page not found"},
	} {
		if wrong.got.status != wrong.status || !strings.HasPrefix(wrong.got.body, wrong.says) {
			t.Errorf("%s: %d %q", what, wrong.got.status, wrong.got.body)
		}
	}
	if got := request(t, "OPTIONS", upload, nil, nil); got.status != 204 || got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a browser's question: %+v", got)
	}
}

func TestMediaWithQuirks(t *testing.T) {
	a := startApp(t, "dsb-quirks")
	name := uploaded(t, a.upload(t, "a.exe", []byte("MZ")))
	if got := a.getMedia(t, "GET", name, nil); got.status != 200 || got.body != "MZ\n" || got.header.Get("Content-Type") != "image/exe" ||
		got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("whatever it is: %+v", got)
	}
	if got := a.getMedia(t, "GET", "1.png", nil); got.status != 200 || got.body != "" {
		t.Errorf("unknown: %+v", got)
	}
}

func TestMediaWithoutStore(t *testing.T) {
	a := startApp(t, "")
	name := uploaded(t, a.upload(t, "a.png", pictures(t)["png"]))
	a.Links["documents"].Cut()
	for what, got := range map[string]served{"upload": a.upload(t, "a.png", pictures(t)["png"]), "get": a.getMedia(t, "GET", name, nil)} {
		if got.status != 500 || !strings.HasPrefix(got.body, "documents: ") {
			t.Errorf("%s: %+v", what, got)
		}
	}
	a.Links["documents"].Mend()
	apptest.Eventually(t, "the picture is there again", func() bool { return a.getMedia(t, "GET", name, nil).status == 200 })
}
