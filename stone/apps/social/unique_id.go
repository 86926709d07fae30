package social

import (
	"context"
	"os"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/uniqueid"
)

type uniqueIDs struct{ ids *uniqueid.Generator }

func startUniqueID(_ context.Context, host *service.Host) error {
	host.Thrift = idl.NewUniqueIdServiceProcessor(uniqueIDs{newIDs(host)})
	return nil
}

func newIDs(host *service.Host) *uniqueid.Generator {
	name, _ := os.Hostname() // without one, the address and chance tell generators apart
	return uniqueid.New(name + " " + host.Config.Listen)
}

// ComposeUniqueId gives an id to a post of whatever type.
func (u uniqueIDs) ComposeUniqueId(context.Context, int64, idl.PostType, map[string]string) (int64, error) {
	return u.ids.Next(), nil
}
