package social

import (
	"context"
	"errors"

	"loadstone.dev/stone/platform/service"
)

var errPending = errors.New("not built yet")

func startMediaFrontend(context.Context, *service.Host) error { return errPending }
func startComposePost(context.Context, *service.Host) error   { return errPending }
func startText(context.Context, *service.Host) error          { return errPending }
func startUniqueID(context.Context, *service.Host) error      { return errPending }
func startURLShorten(context.Context, *service.Host) error    { return errPending }
func startUserMention(context.Context, *service.Host) error   { return errPending }
func startMedia(context.Context, *service.Host) error         { return errPending }
func startUser(context.Context, *service.Host) error          { return errPending }
func startPostStorage(context.Context, *service.Host) error   { return errPending }
func startUserTimeline(context.Context, *service.Host) error  { return errPending }
func startHomeTimeline(context.Context, *service.Host) error  { return errPending }
func startSocialGraph(context.Context, *service.Host) error   { return errPending }
