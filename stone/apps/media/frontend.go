package media

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"

	"github.com/apache/thrift/lib/go/thrift"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/web"
)

//go:embed pages
var pageFiles embed.FS

// frontend is the HTTP API and the pages.
type frontend struct {
	uniqueID    idl.UniqueIdService
	text        idl.TextService
	movieID     idl.MovieIdService
	user        idl.UserService
	movieInfo   idl.MovieInfoService
	castInfo    idl.CastInfoService
	plot        idl.PlotService
	page        idl.PageService
	userReviews idl.UserReviewService

	site     web.Site
	sessions web.Sessions
	tokens   accounts.Tokens // tokens of sessions with the pages
	pages    web.Pages
	quirks   bool
}

func startFrontend(_ context.Context, host *service.Host) error {
	f := &frontend{
		sessions: web.Sessions{Cookie: "login_token", Secret: host.Config.Secret},
		// Of another secret than the tokens of logins, which are read alike and mean another time by their numbers.
		tokens: accounts.Tokens{Secret: "session " + host.Config.Secret},
		quirks: host.Config.Quirks,
	}
	f.site = web.NewSite(host.Log, f.explain)
	for need, use := range map[string]func(thrift.TClient){
		"unique-id":   func(c thrift.TClient) { f.uniqueID = idl.NewUniqueIdServiceClient(c) },
		"text":        func(c thrift.TClient) { f.text = idl.NewTextServiceClient(c) },
		"movie-id":    func(c thrift.TClient) { f.movieID = idl.NewMovieIdServiceClient(c) },
		"user":        func(c thrift.TClient) { f.user = idl.NewUserServiceClient(c) },
		"movie-info":  func(c thrift.TClient) { f.movieInfo = idl.NewMovieInfoServiceClient(c) },
		"cast-info":   func(c thrift.TClient) { f.castInfo = idl.NewCastInfoServiceClient(c) },
		"plot":        func(c thrift.TClient) { f.plot = idl.NewPlotServiceClient(c) },
		"page":        func(c thrift.TClient) { f.page = idl.NewPageServiceClient(c) },
		"user-review": func(c thrift.TClient) { f.userReviews = idl.NewUserReviewServiceClient(c) },
	} {
		client, err := host.DialThrift(need)
		if err != nil {
			return err
		}
		use(client)
	}
	folder, err := fs.Sub(pageFiles, "pages")
	if err != nil {
		return err
	}
	if f.pages, err = web.ParsePages(folder, pageFunctions); err != nil {
		return err
	}
	host.HTTP = http.NewServeMux()
	f.routeAPI(host.HTTP)
	f.routePages(host.HTTP)
	return nil
}

// explain maps an error of a service to a response. Quirk: every error of a service is 500.
func (f *frontend) explain(err error) *web.Problem {
	var raised *idl.ServiceException
	if !errors.As(err, &raised) {
		return nil
	}
	statuses := map[idl.ErrorCode]int{
		idl.ErrorCode_SE_INVALID:      http.StatusBadRequest,
		idl.ErrorCode_SE_UNAUTHORIZED: http.StatusUnauthorized,
		idl.ErrorCode_SE_NOT_FOUND:    http.StatusNotFound,
		idl.ErrorCode_SE_CONFLICT:     http.StatusConflict,
	}
	status, known := statuses[raised.ErrorCode]
	if !known || f.quirks {
		status = http.StatusInternalServerError
	}
	return &web.Problem{Status: status, Text: raised.Message}
}

// requestID is new for every request: the parts of a review are put together by it. It is positive and has 60 bits, as
// published.
func requestID() int64 { return rand.Int64N(1 << 60) }
