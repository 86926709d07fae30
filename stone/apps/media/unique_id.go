package media

import (
	"context"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/uniqueid"
)

type uniqueID struct {
	ids     *uniqueid.Generator
	compose *idl.ComposeReviewServiceClient
}

func startUniqueID(_ context.Context, host *service.Host) error {
	compose, err := host.DialThrift("compose-review")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewUniqueIdServiceProcessor(&uniqueID{
		ids: uniqueid.New(host.Config.Listen), compose: idl.NewComposeReviewServiceClient(compose),
	})
	return nil
}

// UploadUniqueId gives the request's review its id.
func (u *uniqueID) UploadUniqueId(ctx context.Context, reqID int64, carrier map[string]string) (bool, error) {
	completed, err := u.compose.UploadUniqueId(ctx, reqID, u.ids.Next(), carrier)
	return completed, exception.CallFailed(err)
}
