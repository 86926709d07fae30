package social

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/uniqueid"
	"loadstone.dev/stone/platform/web"
)

// patience is a store that notes how long its callers wait.
type patience struct {
	documents.Collection
	t     *testing.T
	calls int
}

func (p *patience) note(ctx context.Context) error {
	p.calls++
	if deadline, set := ctx.Deadline(); !set || time.Until(deadline) >= web.CallTimeout {
		p.t.Errorf("deadline %v, set %t", deadline, set)
	}
	return documents.ErrNotFound
}

func (p *patience) Insert(ctx context.Context, _ ...any) error { return p.note(ctx) }

func (p *patience) Get(ctx context.Context, _ any, _ ...documents.Condition) error {
	return p.note(ctx)
}

func TestTheMediaFrontEndGivesUpBeforeItsCaller(t *testing.T) {
	store := &patience{t: t}
	m := &mediaFrontend{files: store, ids: uniqueid.New("test"), quirks: true}
	_ = m.get(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/get-media?filename=1.png", nil))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if _, err := form.CreateFormFile("media", "a.png"); err != nil {
		t.Fatal(err)
	}
	_ = form.Close()
	request := httptest.NewRequest(http.MethodPost, "/upload-media", &body)
	request.Header.Set("Content-Type", form.FormDataContentType())
	_ = m.upload(httptest.NewRecorder(), request)
	if store.calls != 2 {
		t.Errorf("%d calls of the store", store.calls)
	}
}
