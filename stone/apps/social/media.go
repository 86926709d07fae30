package social

import (
	"context"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/service"
)

// media calls no service: its cache is there and not used, as published.
type media struct{}

func startMedia(_ context.Context, host *service.Host) error {
	host.Thrift = idl.NewMediaServiceProcessor(media{})
	return nil
}

// ComposeMedia joins types and ids by their positions.
func (media) ComposeMedia(_ context.Context, _ int64, types []string, ids []int64, _ map[string]string) ([]*idl.Media, error) {
	if err := checkMedia(types, ids); err != nil {
		return nil, err
	}
	joined := make([]*idl.Media, len(ids))
	for i, id := range ids {
		joined[i] = &idl.Media{MediaID: id, MediaType: types[i]}
	}
	return joined, nil
}
