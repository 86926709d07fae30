package social

import (
	"context"
	"slices"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

// userMention finds out who the mentioned are: from the cache that the service user fills too, and then from its
// documents.
type userMention struct {
	users  documents.Collection
	ids    userIDs
	quirks bool
}

func startUserMention(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-user")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewUserMentionServiceProcessor(&userMention{data.Users.In(store), userIDs{cache}, host.Config.Quirks})
	return nil
}

// ComposeUserMentions finds users by their names, in the order of these. Unknown names are left out, and so are
// repeated ones.
//
// Quirk: repeated names are kept.
func (m *userMention) ComposeUserMentions(ctx context.Context, _ int64, usernames []string, _ map[string]string) ([]*idl.UserMention, error) {
	if len(usernames) > mostMentions {
		return nil, exception.Invalid("mentions: %d are more than %d", len(usernames), mostMentions)
	}
	names := distinctTexts(usernames)
	ids, err := m.find(ctx, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return accounts.CheckUsername(name) != nil }))
	if err != nil {
		return nil, err
	}
	if m.quirks {
		names = usernames
	}
	mentions := make([]*idl.UserMention, 0, len(ids))
	for _, name := range names {
		if id, is := ids[name]; is {
			mentions = append(mentions, &idl.UserMention{UserID: id, Username: name})
		}
	}
	return mentions, nil
}

// find returns the ids by name of those users that there are.
//
// Quirk: what the store says does not go into the cache.
func (m *userMention) find(ctx context.Context, names []string) (map[string]int64, error) {
	ids := m.ids.get(ctx, names)
	var missing []string
	for _, name := range names {
		if _, is := ids[name]; !is {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return ids, nil
	}
	var found []data.Creator
	query := documents.Query{Where: []documents.Condition{documents.In("username", missing)}}
	if err := m.users.Find(ctx, &found, query); err != nil {
		return nil, exception.DocumentsFailed(err)
	}
	for _, one := range found {
		ids[one.Username] = one.UserID
	}
	if !m.quirks {
		m.ids.set(ctx, found)
	}
	return ids, nil
}
