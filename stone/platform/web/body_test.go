package web_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/web"
)

func TestJSONIsOneValue(t *testing.T) {
	for body, want := range map[string]string{
		`{"a": 3}`:          "",
		`{"a": 3} `:         "",
		`{"a": 3}{}`:        "body: invalid character '{' after top-level value",
		`{"a": "3"}`:        "cannot unmarshal string",
		`{"a"`:              "body: unexpected end of JSON input",
		``:                  "body: unexpected end of JSON input",
		`{"a": 3} junk`:     "body: invalid character 'j' after top-level value",
		"{\"b\": \"\xff\"}": "body: not UTF-8",
	} {
		var into struct{ A int }
		err := web.ReadJSON(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(body)), &into)
		if want == "" && (err != nil || into.A != 3) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", body, into, err)
		}
	}
}

func TestAnUploadIsReadInOrder(t *testing.T) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	check(t, form.WriteField("text", "hello"))
	file, err := form.CreateFormFile("picture", "a.png")
	check(t, err)
	_, err = file.Write([]byte("pixels"))
	check(t, err)
	check(t, form.WriteField("after", "x"))
	check(t, form.Close())
	r := httptest.NewRequest("POST", "/", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())

	upload, err := web.ReadUpload(httptest.NewRecorder(), r)
	check(t, err)
	part, err := upload.Next()
	check(t, err)
	content, err := io.ReadAll(part)
	check(t, err)
	if upload.Fields.Get("text") != "hello" || part.FileName() != "a.png" || string(content) != "pixels" {
		t.Errorf("%q, %s: %q", upload.Fields, part.FileName(), content)
	}
	if part, err = upload.Next(); part != nil || err != nil || upload.Fields.Get("after") != "x" {
		t.Errorf("end: %v, %v, %q", part, err, upload.Fields)
	}
}

func TestWhatIsNoUploadIsRefused(t *testing.T) {
	if _, err := web.ReadUpload(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader("x"))); err == nil ||
		err.Error() != "body: not multipart/form-data" {
		t.Errorf("no form: %v", err)
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader("--b\r\nContent-Disposition: form-data; name=x\r\n\r\ncut"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	upload, err := web.ReadUpload(httptest.NewRecorder(), r)
	check(t, err)
	if _, err := upload.Next(); err == nil || !strings.Contains(err.Error(), "body: ") {
		t.Errorf("cut off: %v", err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
