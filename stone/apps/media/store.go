package media

import (
	"context"

	"loadstone.dev/stone/apps/media/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

// openCollection opens the collection of a service and has its indexes made.
func openCollection(ctx context.Context, host *service.Host, at documents.Location) (documents.Collection, error) {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return nil, err
	}
	collection := at.In(store)
	host.Prepare("indexes", func(ctx context.Context) error {
		for _, index := range data.Indexes(at, host.Config.Quirks) {
			if err := collection.EnsureIndex(ctx, index.Field, index.Unique); err != nil {
				return err
			}
		}
		return nil
	})
	return collection, nil
}
