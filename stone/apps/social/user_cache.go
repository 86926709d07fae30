package social

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/service"
)

// userIDs is the cache of users' ids: "<username>:user_id", in decimal digits. Names in it have passed
// accounts.CheckUsername: a single other one could spoil a request for many.
type userIDs struct{ *service.Cached }

func userIDKey(username string) string { return username + ":user_id" }

// get returns the ids by name that the cache holds.
func (c userIDs) get(ctx context.Context, names []string) map[string]int64 {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = userIDKey(name)
	}
	held := c.Get(ctx, keys)
	ids := make(map[string]int64, len(names))
	for i, name := range names {
		if id, err := strconv.ParseInt(string(held[keys[i]]), 10, 64); err == nil {
			ids[name] = id
		}
	}
	return ids
}

// set puts ids into the cache, at the same time: a cache that does not answer costs its timeout once.
func (c userIDs) set(ctx context.Context, users []data.Creator) {
	var all sync.WaitGroup
	for _, one := range users {
		all.Go(func() { c.Set(ctx, userIDKey(one.Username), strconv.AppendInt(nil, one.UserID, 10)) })
	}
	all.Wait()
}

// logins is the cache of what a login needs: "<username>:login". An account never changes, so it is never wrong.
type logins struct{ *service.Cached }

type login struct {
	Password string `json:"password"`
	Salt     string `json:"salt"`
	UserID   int64  `json:"user_id"`
}

func loginKey(username string) string { return username + ":login" }

func (c logins) get(ctx context.Context, username string) (held login, cached bool) {
	key := loginKey(username)
	value, is := c.Get(ctx, []string{key})[key]
	return held, is && json.Unmarshal(value, &held) == nil
}

func (c logins) set(ctx context.Context, username string, known login) {
	if value, err := json.Marshal(known); err == nil { // it never fails
		c.Set(ctx, loginKey(username), value)
	}
}
