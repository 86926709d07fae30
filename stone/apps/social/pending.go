package social

import (
	"context"
	"errors"

	"loadstone.dev/stone/platform/service"
)

var errPending = errors.New("not built yet")

func startText(context.Context, *service.Host) error        { return errPending }
func startUniqueID(context.Context, *service.Host) error    { return errPending }
func startURLShorten(context.Context, *service.Host) error  { return errPending }
func startUserMention(context.Context, *service.Host) error { return errPending }
func startMedia(context.Context, *service.Host) error       { return errPending }
func startUser(context.Context, *service.Host) error        { return errPending }
