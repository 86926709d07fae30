package media

import (
	"context"
	"errors"

	"loadstone.dev/stone/platform/service"
)

var errPending = errors.New("not built yet")

func startFrontend(context.Context, *service.Host) error      { return errPending }
func startUniqueID(context.Context, *service.Host) error      { return errPending }
func startText(context.Context, *service.Host) error          { return errPending }
func startMovieID(context.Context, *service.Host) error       { return errPending }
func startRating(context.Context, *service.Host) error        { return errPending }
func startUser(context.Context, *service.Host) error          { return errPending }
func startComposeReview(context.Context, *service.Host) error { return errPending }
func startReviewStorage(context.Context, *service.Host) error { return errPending }
func startMovieReview(context.Context, *service.Host) error   { return errPending }
func startUserReview(context.Context, *service.Host) error    { return errPending }
func startMovieInfo(context.Context, *service.Host) error     { return errPending }
func startCastInfo(context.Context, *service.Host) error      { return errPending }
func startPlot(context.Context, *service.Host) error          { return errPending }
func startPage(context.Context, *service.Host) error          { return errPending }
