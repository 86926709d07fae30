package media

import (
	"context"
	"errors"

	"loadstone.dev/stone/platform/service"
)

func startFrontend(context.Context, *service.Host) error { return errors.New("not built yet") }
