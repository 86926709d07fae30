package media

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"strconv"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/uniqueid"
)

type user struct {
	users   documents.Collection
	cache   *service.Cached // "<username>:user_id", "<username>:password", "<username>:salt"
	compose *idl.ComposeReviewServiceClient
	ids     *uniqueid.Generator
	tokens  tokens
	quirks  bool
}

func startUser(ctx context.Context, host *service.Host) error {
	users, err := openCollection(ctx, host, data.Users)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-user")
	if err != nil {
		return err
	}
	compose, err := host.DialThrift("compose-review")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewUserServiceProcessor(&user{
		users: users, cache: cache, compose: idl.NewComposeReviewServiceClient(compose),
		ids: uniqueid.New(host.Config.Listen), tokens: tokens{secret: host.Config.Secret}, quirks: host.Config.Quirks,
	})
	return nil
}

// RegisterUser makes an account with an id of its own.
func (u *user) RegisterUser(ctx context.Context, reqID int64, first, last, username, password string, carrier map[string]string) error {
	return u.RegisterUserWithId(ctx, reqID, first, last, username, password, u.ids.Next(), carrier)
}

// RegisterUserWithId makes an account.
func (u *user) RegisterUserWithId(ctx context.Context, _ int64, first, last, username, password string, id int64, _ map[string]string) error {
	if err := firstOf(checkWords("first name", first, longestName), checkWords("last name", last, longestName), checkID("user", id)); err != nil {
		return err
	}
	if err := errors.Join(accounts.CheckUsername(username), accounts.CheckPassword(password)); err != nil {
		return exception.Invalid("%v", err)
	}
	account := data.User{UserID: id, FirstName: first, LastName: last, Username: username}
	// Quirk: without an index only this look tells that a name is taken, and two at the same time are both let in.
	if _, err := u.find(ctx, username); err == nil {
		return exception.Conflict("User %s already existed", username)
	} else if !exception.IsNotFound(err) {
		return err
	}
	if err := u.protect(&account, password); err != nil {
		return err
	}
	err := u.users.Insert(ctx, &account)
	if errors.Is(err, documents.ErrDuplicate) {
		return exception.Conflict("User %s already existed, or another has the id %d", username, id)
	}
	return exception.DocumentsFailed(err)
}

// protect gives an account its hash. Quirk: one that is fast to guess.
func (u *user) protect(account *data.User, password string) (err error) {
	if u.quirks {
		account.Salt = newSalt()
		account.Password = accounts.LegacyHash(password, account.Salt)
		return nil
	}
	account.Password, err = accounts.Hash(password, accounts.Cost)
	return err
}

// Login answers a token that says who logged in.
func (u *user) Login(ctx context.Context, _ int64, username, password string, _ map[string]string) (string, error) {
	account, err := u.credentials(ctx, username)
	if err != nil && !exception.IsNotFound(err) {
		return "", err
	}
	if err != nil || !accounts.Check(account.Password, account.Salt, password) {
		return "", exception.Exception(exceptions.Unauthorized, "the username or the password is wrong")
	}
	return u.tokens.sign(account.UserID), nil
}

// credentials is what a login needs of an account, from the cache where it has all of it. As published, each of the
// three is read separately.
func (u *user) credentials(ctx context.Context, username string) (data.User, error) {
	if accounts.CheckUsername(username) != nil {
		return data.User{}, unknownUser(username)
	}
	idKey, passwordKey, saltKey := username+":user_id", username+":password", username+":salt"
	held := make(map[string][]byte)
	for _, key := range []string{passwordKey, saltKey, idKey} {
		maps.Copy(held, u.cache.Get(ctx, []string{key}))
	}
	id, err := strconv.ParseInt(string(held[idKey]), 10, 64)
	if err == nil && len(held) == 3 {
		return data.User{UserID: id, Username: username, Password: string(held[passwordKey]), Salt: string(held[saltKey])}, nil
	}
	account, err := u.find(ctx, username)
	if err == nil {
		u.cache.Set(ctx, idKey, strconv.AppendInt(nil, account.UserID, 10))
		u.cache.Set(ctx, passwordKey, []byte(account.Password))
		u.cache.Set(ctx, saltKey, []byte(account.Salt))
	}
	return account, err
}

// UploadUserWithUserId says who writes the request's review.
func (u *user) UploadUserWithUserId(ctx context.Context, reqID, id int64, carrier map[string]string) (bool, error) {
	if err := checkID("user", id); err != nil {
		return false, err
	}
	completed, err := u.compose.UploadUserId(ctx, reqID, id, carrier)
	return completed, exception.CallFailed(err)
}

// UploadUserWithUsername sets the author of the request's review. As published, no password is checked here.
func (u *user) UploadUserWithUsername(ctx context.Context, reqID int64, username string, carrier map[string]string) (bool, error) {
	if accounts.CheckUsername(username) != nil {
		return false, unknownUser(username)
	}
	key := username + ":user_id"
	id, err := strconv.ParseInt(string(u.cache.Get(ctx, []string{key})[key]), 10, 64)
	if err == nil {
		return u.UploadUserWithUserId(ctx, reqID, id, carrier)
	}
	account, err := u.find(ctx, username)
	if err != nil {
		return false, err
	}
	u.cache.Set(ctx, key, strconv.AppendInt(nil, account.UserID, 10))
	return u.UploadUserWithUserId(ctx, reqID, account.UserID, carrier)
}

func (u *user) find(ctx context.Context, username string) (account data.User, err error) {
	err = u.users.Get(ctx, &account, documents.Equal("username", username))
	if errors.Is(err, documents.ErrNotFound) {
		return account, unknownUser(username)
	}
	return account, exception.DocumentsFailed(err)
}

func unknownUser(username string) error {
	return exception.NotFound("User %s is not registered", username)
}

// newSalt is 32 letters and digits, as published.
func newSalt() string {
	return rand.Text() + rand.Text()[:6]
}
