package hotel

import (
	"context"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/service"
)

// user checks credentials.
//
// Quirk: no login of the workload succeeds, because the users are stored under other names; that is
// in the seed (data.AllUsers), not here.
type user struct {
	hotelpb.UnimplementedUserServer
	passwords service.Memory[map[string]string] // hashes by user name
}

func startUser(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	want := len(data.AllUsers(host.Config.Quirks))
	u := &user{}
	u.passwords.Fill(host, "user data", func(ctx context.Context) (*map[string]string, error) {
		users, err := service.ReadAll[data.User](ctx, store, data.Users, want)
		passwords := make(map[string]string, len(users))
		for _, one := range users {
			passwords[one.Username] = one.Password
		}
		return &passwords, err
	})
	hotelpb.RegisterUserServer(host.RPC, u)
	return nil
}

func (u *user) CheckUser(_ context.Context, request *hotelpb.UserRequest) (*hotelpb.UserResult, error) {
	passwords, err := u.passwords.Get()
	if err != nil {
		return nil, err
	}
	hash, known := (*passwords)[request.Username]
	return &hotelpb.UserResult{Correct: known && hash == data.HashPassword(request.Password)}, nil
}
