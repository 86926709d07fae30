package media

import (
	"context"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
)

type castInfo struct {
	actors *shelf[int64, data.CastInfo]
	quirks bool
}

func startCastInfo(ctx context.Context, host *service.Host) error {
	id := func(actor *data.CastInfo) int64 { return actor.CastInfoID }
	actors, err := openShelf(ctx, host, data.CastInfos, "memcached-cast-info", "cast", "cast_info_id", id)
	if err != nil {
		return err
	}
	host.Thrift = idl.NewCastInfoServiceProcessor(&castInfo{actors, host.Config.Quirks})
	return nil
}

// WriteCastInfo adds an actor.
func (c *castInfo) WriteCastInfo(ctx context.Context, _, id int64, name string, gender bool, intro string, _ map[string]string) error {
	if err := firstOf(checkID("cast_info", id), checkWords("name", name, longestName), checkText("intro", intro)); err != nil {
		return err
	}
	return c.actors.add(ctx, &data.CastInfo{CastInfoID: id, Name: name, Gender: gender, Intro: intro})
}

// ReadCastInfo returns actors in the order of their ids. Ids without an actor are left out.
//
// Quirk: they are an error.
func (c *castInfo) ReadCastInfo(ctx context.Context, _ int64, ids []int64, _ map[string]string) ([]*idl.CastInfo, error) {
	if err := checkCount("cast_info_ids", len(ids)); err != nil {
		return nil, err
	}
	actors, err := c.actors.list(ctx, ids)
	if err == nil && c.quirks && len(actors) < len(ids) {
		return nil, exception.Exception(exceptions.Handler, "cast-info-service return set incomplete")
	}
	return actors, err
}
