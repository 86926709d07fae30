package social

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/apache/thrift/lib/go/thrift"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/web"
)

// frontend is the HTTP API and the pages.
type frontend struct {
	compose      idl.ComposePostService
	homeTimeline idl.HomeTimelineService
	userTimeline idl.UserTimelineService
	user         idl.UserService
	graph        idl.SocialGraphService
	media        *web.Backend
	site         web.Site
	pages        web.Pages
	tokens       accounts.Tokens
	sessions     web.Sessions
	quirks       bool
}

func startFrontend(_ context.Context, host *service.Host) error {
	f := &frontend{
		site:     web.NewSite(host.Log, explain),
		pages:    mustParsePages(),
		tokens:   accounts.Tokens{Secret: host.Config.Secret},
		sessions: web.Sessions{Cookie: "login_token", Secret: host.Config.Secret},
		quirks:   host.Config.Quirks,
	}
	if err := f.dial(host); err != nil {
		return err
	}
	host.HTTP = f.routes()
	return nil
}

func (f *frontend) routes() *http.ServeMux {
	mux := http.NewServeMux()
	f.routeLoadAPI(mux)
	f.routeAPI(mux)
	f.routePages(mux)
	forward := f.media.Forward(f.site)
	mux.Handle("/upload-media", forward)
	mux.Handle("/get-media", forward)
	return mux
}

func (f *frontend) dial(host *service.Host) error {
	for need, use := range map[string]func(thrift.TClient){
		"compose-post":  func(c thrift.TClient) { f.compose = idl.NewComposePostServiceClient(c) },
		"home-timeline": func(c thrift.TClient) { f.homeTimeline = idl.NewHomeTimelineServiceClient(c) },
		"user-timeline": func(c thrift.TClient) { f.userTimeline = idl.NewUserTimelineServiceClient(c) },
		"user":          func(c thrift.TClient) { f.user = idl.NewUserServiceClient(c) },
		"social-graph":  func(c thrift.TClient) { f.graph = idl.NewSocialGraphServiceClient(c) },
	} {
		client, err := host.DialThrift(need)
		if err != nil {
			return err
		}
		use(client)
	}
	media, err := host.DialHTTP("media-frontend")
	f.media = media
	return err
}

// explain maps an error of a service to a response.
func explain(err error) *web.Problem {
	var raised *idl.ServiceException
	if !errors.As(err, &raised) {
		return nil
	}
	status := http.StatusInternalServerError
	switch raised.ErrorCode {
	case idl.ErrorCode_SE_INVALID:
		status = http.StatusBadRequest
	case idl.ErrorCode_SE_UNAUTHORIZED:
		status = http.StatusUnauthorized
	case idl.ErrorCode_SE_NOT_FOUND:
		status = http.StatusNotFound
	case idl.ErrorCode_SE_CONFLICT:
		status = http.StatusConflict
	}
	return &web.Problem{Status: status, Text: raised.Message}
}

// failed says what failed in the published words. Its status is 500, as published, for the codes that are listed; Quirk:
// for all.
func (f *frontend) failed(what string, err error, published ...idl.ErrorCode) error {
	if err == nil {
		return nil
	}
	var refused *web.Problem
	var raised *idl.ServiceException
	switch {
	case errors.As(err, &refused): // by the front end itself
		return refused
	case !errors.As(err, &raised):
		return web.Problemf(http.StatusInternalServerError, "%s: %v", what, err)
	}
	problem := explain(raised)
	if f.quirks || slices.Contains(published, raised.ErrorCode) {
		problem.Status = http.StatusInternalServerError
	}
	problem.Text = what + ": " + problem.Text
	return problem
}

// requestID is new for every request: positive, of 60 bits as published.
func requestID() int64 { return rand.Int64N(1 << 60) }
