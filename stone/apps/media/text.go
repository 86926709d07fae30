package media

import (
	"context"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/service"
)

type text struct {
	compose *idl.ComposeReviewServiceClient
}

func startText(_ context.Context, host *service.Host) error {
	compose, err := host.DialThrift("compose-review")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewTextServiceProcessor(&text{idl.NewComposeReviewServiceClient(compose)})
	return nil
}

// UploadText takes the text of the request's review as it is.
func (t *text) UploadText(ctx context.Context, reqID int64, words string, carrier map[string]string) (bool, error) {
	if err := checkText("text", words); err != nil {
		return false, err
	}
	completed, err := t.compose.UploadText(ctx, reqID, words, carrier)
	return completed, exception.CallFailed(err)
}
