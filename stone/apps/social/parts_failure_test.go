package social_test

import (
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

func TestPartsWithoutTheirNeighbours(t *testing.T) {
	a := startApp(t, "")
	a.register(1)
	t.Run("a cache that is down costs time, no answer", func(t *testing.T) {
		a.Links["memcached-user"].Cut()
		defer a.mend(t, "memcached-user")
		for range 5 {
			if got := a.mentioned(t, "username_1", "nobody"); len(got) != 1 {
				t.Errorf("mentioned: %q", got)
			}
			if session, err := a.login(t, "username_1", "password_1"); err != nil || session.UserID != 1 {
				t.Errorf("%+v, %v", session, err)
			}
			if id, err := a.users().GetUserId(t.Context(), 1, "username_1", nil); err != nil || id != 1 {
				t.Errorf("id %d, %v", id, err)
			}
		}
		for name, least := range map[string]int64{"user": 20, "user-mention": 10} { // each answers once
			if counted := a.Replica(name).Counter("memcached-user failures"); counted < least {
				t.Errorf("%s counted %d failures", name, counted)
			}
			if !strings.Contains(a.Replica(name).Log(), "cache failed") {
				t.Errorf("%s does not say that its cache failed", name)
			}
		}
	})
	t.Run("no user is half registered", func(t *testing.T) {
		register := func() error { return a.users().RegisterUserWithId(t.Context(), 1, "", "", "late", "p", 50, nil) }
		if code := a.Replica("social-graph").Stop(); code != service.Done {
			t.Errorf("social-graph: exit %d", code)
		}
		expectException(t, register(), idl.ErrorCode_SE_THRIFT_CONN_ERROR, "")
		_, err := a.login(t, "late", "p")
		expectException(t, err, idl.ErrorCode_SE_UNAUTHORIZED, refused)
		if found := a.mentioned(t, "late"); len(found) != 0 {
			t.Errorf("mentioned: %q", found)
		}
		a.Replica("user").Stop()
		a.Replica("user").Start()
		a.Replica("user").WaitReady() // it calls social-graph, but that needs it: one must be first
		a.Replica("social-graph").Start()
		a.Replica("social-graph").WaitReady()
		// As after a registration that broke off between graph and account.
		apptest.Eventually(t, "social-graph is reached", func() bool { return a.graph().InsertUser(t.Context(), 1, 50, nil) == nil })
		if err := register(); err != nil {
			t.Errorf("again: %v", err)
		}
		if _, err := a.login(t, "late", "p"); err != nil {
			t.Error(err)
		}
		if nodes := a.count(t, data.Graph, documents.Equal("user_id", int64(50))); nodes != 1 {
			t.Errorf("%d nodes in the graph", nodes)
		}
	})
	t.Run("a text without url-shorten fails, and is whole again", func(t *testing.T) {
		compose := func() error {
			_, err := a.texts().ComposeText(t.Context(), 1, "http://x", nil)
			return err
		}
		a.Replica("url-shorten").Stop()
		err := compose()
		expectException(t, err, idl.ErrorCode_SE_THRIFT_CONN_ERROR, "")
		if err == nil || !strings.Contains(err.Error(), "url-shorten") {
			t.Errorf("%v does not say which service failed", err)
		}
		a.Replica("url-shorten").Start()
		apptest.Eventually(t, "texts are composed again", func() bool { return compose() == nil })
	})
	t.Run("a store that is down is reported", func(t *testing.T) {
		a.Links["documents"].Cut()
		defer a.mend(t, "documents")
		_, err := a.texts().ComposeText(t.Context(), 1, "http://x", nil)
		expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
		err = a.users().RegisterUserWithId(t.Context(), 1, "", "", "later", "p", 51, nil)
		expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
		_, err = a.mentions().ComposeUserMentions(t.Context(), 1, []string{"username_1", "nobody"}, nil)
		expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
		_, err = a.login(t, "nobody", "p")
		expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
		_, err = a.users().GetUserId(t.Context(), 1, "nobody", nil)
		expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
		_, err = a.shortURLs().GetExtendedUrls(t.Context(), 1, []string{"http://short-url/0123456789"}, nil)
		expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
		_, err = a.users().GetUsers(t.Context(), 1, []int64{1}, nil)
		expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
	})
}
