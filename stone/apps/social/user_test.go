package social_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/documents"
)

const refused = "Incorrect username or password"

func (a *app) account(t *testing.T, username string) data.User {
	t.Helper()
	var account data.User
	if err := data.Users.In(a.Store()).Get(t.Context(), &account, documents.Equal("username", username)); err != nil {
		t.Errorf("%s: %v", username, err)
	}
	return account
}

func (a *app) count(t *testing.T, at documents.Location, where ...documents.Condition) int {
	t.Helper()
	count, err := at.In(a.Store()).Count(t.Context(), where...)
	if err != nil {
		t.Error(err)
	}
	return count
}

func (a *app) login(t *testing.T, username, password string) (accounts.Session, error) {
	t.Helper()
	token, err := a.users().Login(t.Context(), 1, username, password, nil)
	if err != nil {
		return accounts.Session{}, err
	}
	return accounts.Tokens{Secret: apptest.Secret}.Read(token)
}

func testRegistrations(t *testing.T, a *app) {
	users := a.users()
	if err := users.RegisterUser(t.Context(), 1, "Ann", "", "ann", "geheim ü", nil); err != nil {
		t.Fatal(err)
	}
	ann := a.account(t, "ann")
	if ann.UserID <= 0 || ann.FirstName != "Ann" || ann.LastName != "" || ann.Salt != "" || !strings.HasPrefix(ann.Password, "$2") {
		t.Errorf("stored: %+v", ann)
	}
	if nodes := a.count(t, data.Graph, documents.Equal("user_id", ann.UserID)); nodes != 1 {
		t.Errorf("%d nodes in the graph", nodes)
	}
	if session, err := a.login(t, "ann", "geheim ü"); err != nil || session != (accounts.Session{UserID: ann.UserID, Username: "ann"}) {
		t.Errorf("login: %+v, %v", session, err)
	}

	before := a.count(t, data.Users)
	err := users.RegisterUser(t.Context(), 1, "Ann", "", "ann", "geheim ü", nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, "User ann already existed")
	err = users.RegisterUserWithId(t.Context(), 1, "", "", "ann", "other", 77, nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, "User ann already existed")
	if nodes := a.count(t, data.Graph, documents.Equal("user_id", int64(77))); nodes != 0 {
		t.Error("the graph has who was refused")
	}
	err = users.RegisterUserWithId(t.Context(), 1, "", "", "bob", "other", ann.UserID, nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, fmt.Sprintf("User bob already existed, or another has the id %d", ann.UserID))
	for want, c := range map[string]struct {
		first, last, username, password string
		id                              int64
	}{
		"the username is empty": {"", "", "", "p", 1000},
		`the username "o p" has characters other than letters (a-z), digits, - and _`: {"", "", "o p", "p", 1000},
		"the password is empty":                           {"", "", "carl", "", 1000},
		"the password has 73 bytes; at most 72 are taken": {"", "", "carl", strings.Repeat("p", 73), 1000},
		"name: contains a NUL":                            {"\x00", "", "carl", "p", 1000},
		"name: not UTF-8":                                 {"", "\xff", "carl", "p", 1000},
		"name: 257 bytes are more than 256":               {"", strings.Repeat("n", 257), "carl", "p", 1000},
		"user: id -1 is negative":                         {"", "", "carl", "p", -1},
	} {
		err := users.RegisterUserWithId(t.Context(), 1, c.first, c.last, c.username, c.password, c.id, nil)
		expectException(t, err, idl.ErrorCode_SE_INVALID, want)
	}
	if after := a.count(t, data.Users); after != before {
		t.Errorf("%d users, then %d", before, after)
	}
}

// One of many wins, whether the ids differ or not.
func testRegistrationsAtOnce(t *testing.T, a *app) {
	const rivals = 6
	users := a.users()
	errs := make([]error, 2*rivals)
	var all sync.WaitGroup
	for i := range rivals {
		all.Go(func() { errs[i] = users.RegisterUser(t.Context(), 1, "", "", "rival", "p", nil) })
		all.Go(func() {
			errs[rivals+i] = users.RegisterUserWithId(t.Context(), 1, "", "", fmt.Sprintf("rival_%d", i), "p", 4711, nil)
		})
	}
	all.Wait()
	for _, of := range [][]error{errs[:rivals], errs[rivals:]} {
		registered := 0
		for _, err := range of {
			if err == nil {
				registered++
			} else {
				expectException(t, err, idl.ErrorCode_SE_CONFLICT, "")
			}
		}
		if registered != 1 {
			t.Errorf("%d of %d were registered: %v", registered, rivals, of)
		}
	}
}

func testLogins(t *testing.T, a *app) {
	for range 2 { // store, cache
		for _, wrong := range [][2]string{
			{"username_1", "password_2"}, {"username_1", ""}, {"nobody", "password_1"}, {"", ""}, {"a b", "x"}, {"\xff", "\x00"},
			{"username_1", "password_1\x00password_1"},
		} {
			_, err := a.login(t, wrong[0], wrong[1])
			expectException(t, err, idl.ErrorCode_SE_UNAUTHORIZED, refused)
		}
		if session, err := a.login(t, "username_1", "password_1"); err != nil || session != (accounts.Session{UserID: 1, Username: "username_1"}) {
			t.Errorf("%+v, %v", session, err)
		}
	}
	a.Links["documents"].Cut()
	defer a.mend(t, "documents")
	if _, err := a.login(t, "username_1", "password_1"); err != nil {
		t.Errorf("from the cache: %v", err)
	}
	_, err := a.login(t, "username_1", "password_2")
	expectException(t, err, idl.ErrorCode_SE_UNAUTHORIZED, refused)
}

func testNamesAndIDs(t *testing.T, a *app) {
	users := a.users()
	for range 2 { // store, cache
		if id, err := users.GetUserId(t.Context(), 1, "username_2", nil); id != 2 || err != nil {
			t.Errorf("id %d, %v", id, err)
		}
		if creator, err := users.ComposeCreatorWithUsername(t.Context(), 1, "username_0", nil); err != nil || *creator != (idl.Creator{UserID: 0, Username: "username_0"}) {
			t.Errorf("%v, %v", creator, err)
		}
	}
	_, err := users.GetUserId(t.Context(), 1, "unknown", nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "User unknown is not registered")
	_, err = users.ComposeCreatorWithUsername(t.Context(), 1, "no body", nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, `User "no body" is not registered`)
	if creator, err := users.ComposeCreatorWithUserId(t.Context(), 1, 99, "whoever", nil); err != nil || *creator != (idl.Creator{UserID: 99, Username: "whoever"}) {
		t.Errorf("%v, %v", creator, err)
	}
	creators, err := users.GetUsers(t.Context(), 1, []int64{2, 12345, -1, 0, 2}, nil)
	var names []string
	for _, one := range creators {
		names = append(names, fmt.Sprint(one.UserID, one.Username))
	}
	if err != nil || !slices.Equal(names, []string{"2username_2", "0username_0", "2username_2"}) {
		t.Errorf("users: %q, %v", names, err)
	}
	if creators, err := users.GetUsers(t.Context(), 1, nil, nil); err != nil || len(creators) != 0 {
		t.Errorf("of no ids: %v, %v", creators, err)
	}
}

func testAccountsWithQuirks(t *testing.T, a *app) {
	stored := a.account(t, "username_1")
	if len(stored.Salt) != 32 || stored.Password != accounts.LegacyHash("password_1", stored.Salt) {
		t.Errorf("stored: %+v", stored)
	}
	if _, err := a.login(t, "username_1", "password_1"); err != nil {
		t.Error(err)
	}
	_, err := a.login(t, "username_1", "password_2")
	expectException(t, err, idl.ErrorCode_SE_UNAUTHORIZED, refused)
	err = a.users().RegisterUserWithId(t.Context(), 1, "", "", "username_1", "x", 100, nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, "User username_1 already existed")
	err = a.users().RegisterUserWithId(t.Context(), 1, "", "", "registered", "x", 1, nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, "User registered already existed, or another has the id 1")
}
