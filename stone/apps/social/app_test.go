package social_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/servertest"
)

// app is the whole of Social Network in this process, over real stores.
type app struct {
	*apptest.App
	t *testing.T
}

// startApp starts stores and services and waits until all are ready. A test that needs the same of it as others shares
// it with them, as subtests.
func startApp(t *testing.T, profile string) *app {
	t.Helper()
	return startAppOn(t, profile, servertest.Postgres)
}

func startAppOn(t *testing.T, profile string, store func(testing.TB) string) *app {
	t.Helper()
	return startTraced(t, "", profile, store)
}

func startTraced(t *testing.T, collector, profile string, store func(testing.TB) string) *app {
	t.Helper()
	a := &app{apptest.StartTraced(t, collector, "social", social.Services, profile, store), t}
	a.WaitReady()
	return a
}

func (a *app) uniqueIDs() idl.UniqueIdService {
	return idl.NewUniqueIdServiceClient(a.Thrift("unique-id"))
}

func (a *app) texts() idl.TextService {
	return idl.NewTextServiceClient(a.Thrift("text"))
}

func (a *app) shortURLs() idl.UrlShortenService {
	return idl.NewUrlShortenServiceClient(a.Thrift("url-shorten"))
}

func (a *app) mentions() idl.UserMentionService {
	return idl.NewUserMentionServiceClient(a.Thrift("user-mention"))
}

func (a *app) media() idl.MediaService {
	return idl.NewMediaServiceClient(a.Thrift("media"))
}

func (a *app) users() idl.UserService {
	return idl.NewUserServiceClient(a.Thrift("user"))
}

func (a *app) composer() idl.ComposePostService {
	return idl.NewComposePostServiceClient(a.Thrift("compose-post"))
}

func (a *app) posts() idl.PostStorageService {
	return idl.NewPostStorageServiceClient(a.Thrift("post-storage"))
}

func (a *app) userTimelines() idl.UserTimelineService {
	return idl.NewUserTimelineServiceClient(a.Thrift("user-timeline"))
}

func (a *app) homeTimelines() idl.HomeTimelineService {
	return idl.NewHomeTimelineServiceClient(a.Thrift("home-timeline"))
}

func (a *app) graph() idl.SocialGraphService {
	return idl.NewSocialGraphServiceClient(a.Thrift("social-graph"))
}

// register makes a user "username_<id>" with the password "password_<id>".
func (a *app) register(id int64) {
	a.t.Helper()
	number := fmt.Sprint(id)
	err := a.users().RegisterUserWithId(a.t.Context(), 1, "first_name_"+number, "last_name_"+number, "username_"+number, "password_"+number, id, nil)
	if err != nil {
		a.t.Fatal(err)
	}
}

// expectException fails unless an error is an exception of this code and message; an empty message is not compared.
func expectException(t *testing.T, err error, code idl.ErrorCode, message string) {
	t.Helper()
	var raised *idl.ServiceException
	if !errors.As(err, &raised) || raised.ErrorCode != code || message != "" && raised.Message != message {
		t.Errorf("%v; want %s %q", err, code, message)
	}
}

// mend mends the way to a store and waits until it is used again.
func (a *app) mend(t *testing.T, name string) {
	t.Helper()
	a.Links[name].Mend()
	apptest.Eventually(t, name+" is used again", func() bool {
		for service := range social.Services {
			if _, says := a.Replica(service).Ready(); strings.Contains(says, "degraded") {
				return false
			}
		}
		return true
	})
}
