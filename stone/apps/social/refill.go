package social

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"
)

// refill copies to Redis what read has found in the store: write puts it there, in one step. The copy is left out if the
// watched key was set since before read began, and so is one that Redis was restarted under (that is an error: the
// connection that watched broke).
func refill(ctx context.Context, client *goredis.Client, watched string, read func() error, write func(goredis.Pipeliner)) error {
	var unread error
	err := client.Watch(ctx, func(tx *goredis.Tx) error {
		if unread = read(); unread != nil {
			return unread
		}
		_, err := tx.TxPipelined(ctx, func(pipeline goredis.Pipeliner) error {
			write(pipeline)
			return nil
		})
		if errors.Is(err, goredis.TxFailedErr) {
			return nil
		}
		return err
	}, watched)
	if unread != nil {
		return unread
	}
	return redisFailed(err)
}
