package social

import (
	"context"
	"errors"
	"math/rand/v2"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/uniqueid"
)

const saltLength = 32 // as published

// users registers people, logs them in, and knows their names and ids.
type users struct {
	accounts documents.Collection
	ids      userIDs
	logins   logins
	graph    idl.SocialGraphService
	fresh    *uniqueid.Generator
	tokens   accounts.Tokens
	quirks   bool
}

func startUser(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-user")
	if err != nil {
		return err
	}
	graph, err := host.CallThrift("social-graph") // which needs this service
	if err != nil {
		return err
	}
	prepareIndexes(host, store, data.Users)
	host.Thrift = idl.NewUserServiceProcessor(&users{
		accounts: data.Users.In(store), ids: userIDs{cache}, logins: logins{cache}, graph: idl.NewSocialGraphServiceClient(graph),
		fresh: newIDs(host), tokens: accounts.Tokens{Secret: host.Config.Secret}, quirks: host.Config.Quirks,
	})
	return nil
}

// RegisterUser makes an account with an id of ours.
func (u *users) RegisterUser(ctx context.Context, reqID int64, first, last, username, password string, carrier map[string]string) error {
	return u.RegisterUserWithId(ctx, reqID, first, last, username, password, u.fresh.Next(), carrier)
}

// RegisterUserWithId makes an account. The one insertion that a name or an id can have is what registers; the graph of
// followers, where a user can be inserted again, comes before it. So a registration that broke off anywhere left
// no user half registered, and can be repeated.
func (u *users) RegisterUserWithId(
	ctx context.Context, reqID int64, first, last, username, password string, userID int64, carrier map[string]string,
) error {
	if err := checkRegistration(first, last, username, password, userID); err != nil {
		return err
	}
	switch _, err := u.find(ctx, username); {
	case err == nil:
		return alreadyExisted(username)
	case !errors.Is(err, documents.ErrNotFound):
		return exception.DocumentsFailed(err)
	}
	account := data.User{UserID: userID, FirstName: first, LastName: last, Username: username}
	if err := u.setPassword(&account, password); err != nil {
		return err
	}
	if err := u.graph.InsertUser(ctx, reqID, userID, carrier); err != nil {
		return exception.CallFailed(err)
	}
	err := u.accounts.Insert(ctx, account)
	if errors.Is(err, documents.ErrDuplicate) {
		return exception.Conflict("User %s already existed, or another has the id %d", username, userID)
	}
	return exception.DocumentsFailed(err)
}

func checkRegistration(first, last, username, password string, userID int64) error {
	for _, wrong := range []error{accounts.CheckUsername(username), accounts.CheckPassword(password)} {
		if wrong != nil {
			return exception.Invalid("%v", wrong)
		}
	}
	for _, name := range []string{first, last} {
		if err := checkName("name", name); err != nil {
			return err
		}
	}
	return checkID("user", userID)
}

// alreadyExisted is what load scripts that register users count.
func alreadyExisted(username string) error {
	return exception.Conflict("User %s already existed", username)
}

// setPassword gives an account its hash.
//
// Quirk: the hash is one that can be computed fast.
func (u *users) setPassword(account *data.User, password string) (err error) {
	if !u.quirks {
		account.Password, err = accounts.Hash(password, accounts.Cost)
		return err
	}
	salt := make([]byte, saltLength)
	for i := range salt {
		salt[i] = shortDigits[rand.IntN(len(shortDigits))]
	}
	account.Salt = string(salt)
	account.Password = accounts.LegacyHash(password, account.Salt)
	return nil
}

// Login returns a token. It does not say which of the two is wrong, username or password.
func (u *users) Login(ctx context.Context, _ int64, username, password string, _ map[string]string) (string, error) {
	const refused = "Incorrect username or password"
	if accounts.CheckUsername(username) != nil {
		return "", exception.Unauthorized(refused)
	}
	known, cached := u.logins.get(ctx, username)
	if !cached {
		account, err := u.find(ctx, username)
		if errors.Is(err, documents.ErrNotFound) {
			return "", exception.Unauthorized(refused)
		}
		if err != nil {
			return "", exception.DocumentsFailed(err)
		}
		known = login{account.Password, account.Salt, account.UserID}
	}
	if !accounts.Check(known.Password, known.Salt, password) {
		return "", exception.Unauthorized(refused)
	}
	if !cached {
		u.logins.set(ctx, username, known)
	}
	return u.tokens.Sign(accounts.Session{UserID: known.UserID, Username: username}), nil
}

// ComposeCreatorWithUserId takes both as given.
func (u *users) ComposeCreatorWithUserId(_ context.Context, _, userID int64, username string, _ map[string]string) (*idl.Creator, error) {
	return &idl.Creator{UserID: userID, Username: username}, nil
}

// ComposeCreatorWithUsername looks the id up.
func (u *users) ComposeCreatorWithUsername(ctx context.Context, reqID int64, username string, carrier map[string]string) (*idl.Creator, error) {
	id, err := u.GetUserId(ctx, reqID, username, carrier)
	if err != nil {
		return nil, err
	}
	return &idl.Creator{UserID: id, Username: username}, nil
}

// GetUserId reads the cache, then the store.
func (u *users) GetUserId(ctx context.Context, _ int64, username string, _ map[string]string) (int64, error) {
	if accounts.CheckUsername(username) != nil {
		return 0, exception.NotFound("User %.100q is not registered", username)
	}
	if id, cached := u.ids.get(ctx, []string{username})[username]; cached {
		return id, nil
	}
	account, err := u.find(ctx, username)
	if errors.Is(err, documents.ErrNotFound) {
		return 0, exception.NotFound("User %s is not registered", username)
	}
	if err != nil {
		return 0, exception.DocumentsFailed(err)
	}
	u.ids.set(ctx, []data.Creator{{UserID: account.UserID, Username: username}})
	return account.UserID, nil
}

// GetUsers returns the users with these ids, in their order; unknown ids are left out.
func (u *users) GetUsers(ctx context.Context, _ int64, userIDs []int64, _ map[string]string) ([]*idl.Creator, error) {
	if len(userIDs) == 0 {
		return []*idl.Creator{}, nil
	}
	var found []data.Creator
	if err := u.accounts.Find(ctx, &found, documents.Query{Where: []documents.Condition{documents.In("user_id", userIDs)}}); err != nil {
		return nil, exception.DocumentsFailed(err)
	}
	names := make(map[int64]string, len(found))
	for _, one := range found {
		names[one.UserID] = one.Username
	}
	creators := make([]*idl.Creator, 0, len(found))
	for _, id := range userIDs {
		if name, is := names[id]; is {
			creators = append(creators, &idl.Creator{UserID: id, Username: name})
		}
	}
	return creators, nil
}

// find reads an account; documents.ErrNotFound if the name is unknown.
func (u *users) find(ctx context.Context, username string) (account data.User, err error) {
	err = u.accounts.Get(ctx, &account, documents.Equal("username", username))
	return account, err
}
