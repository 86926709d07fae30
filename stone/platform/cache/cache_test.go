package cache_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/servertest"
)

func open(t *testing.T, addresses ...string) cache.Cache {
	t.Helper()
	opened, err := cache.Open(strings.Join(addresses, ","))
	check(t, err)
	t.Cleanup(func() { check(t, opened.Close()) })
	return opened
}

func TestSetAndGetMulti(t *testing.T) {
	c := open(t, servertest.Memcached(t))
	check(t, c.Ping())
	check(t, c.Set(t.Context(), "one", []byte("1")))
	check(t, c.Set(t.Context(), "one", []byte("uno")))
	check(t, c.Set(t.Context(), "empty", nil))
	want(t, c, map[string]string{"one": "uno", "empty": ""}, "one", "empty", "absent", "one")
	want(t, c, map[string]string{})
	check(t, c.Flush())
	want(t, c, map[string]string{}, "one", "empty")
}

func TestAddStoresOnce(t *testing.T) {
	c := open(t, servertest.Memcached(t))
	for _, first := range []bool{true, false} {
		added, err := c.Add(t.Context(), "key", fmt.Appendf(nil, "%v", first))
		check(t, err)
		if added != first {
			t.Errorf("added = %v, want %v", added, first)
		}
	}
	want(t, c, map[string]string{"key": "true"}, "key")
}

func TestAValueExpires(t *testing.T) {
	c := open(t, servertest.Memcached(t))
	for key, lifetime := range map[string]time.Duration{"short": time.Second, "long": time.Hour, "forever": 0} {
		if added, err := c.AddFor(t.Context(), key, []byte("x"), lifetime); !added || err != nil {
			t.Fatalf("%s: %v, %v", key, added, err)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found, err := c.GetMulti(t.Context(), []string{"short"})
		check(t, err)
		if len(found) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not expire")
		}
	}
	want(t, c, map[string]string{"long": "x", "forever": "x"}, "long", "forever")
}

func TestIncrementIsAtomic(t *testing.T) {
	c := open(t, servertest.Memcached(t))
	if _, found, err := c.Increment(t.Context(), "rooms", 1); found || err != nil {
		t.Errorf("found = %v, %v; want a miss", found, err)
	}
	check(t, c.Set(t.Context(), "rooms", []byte("5")))
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, found, err := c.Increment(t.Context(), "rooms", 2); !found || err != nil {
				t.Errorf("found = %v, %v", found, err)
			}
		})
	}
	group.Wait()
	if value, _, err := c.Increment(t.Context(), "rooms", 0); value != 45 || err != nil {
		t.Errorf("value = %d, %v; want 45", value, err)
	}
}

func TestSeveralServersShareTheKeys(t *testing.T) {
	addresses := []string{servertest.Memcached(t), servertest.Memcached(t)}
	both := open(t, addresses...)
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("hotel-%d", i))
		check(t, both.Set(t.Context(), keys[i], []byte("x")))
	}
	total := 0
	for _, address := range addresses {
		found, err := open(t, address).GetMulti(t.Context(), keys)
		check(t, err)
		if len(found) == 0 {
			t.Errorf("%s holds no key", address)
		}
		total += len(found)
	}
	if total != len(keys) {
		t.Errorf("the servers hold %d keys, want each of %d once", total, len(keys))
	}
	found, err := both.GetMulti(t.Context(), keys)
	check(t, err)
	if len(found) != len(keys) {
		t.Errorf("found %d of %d", len(found), len(keys))
	}
	check(t, both.Flush())
	want(t, both, map[string]string{}, keys...)
}

func TestAnAbsentServerIsAnErrorAndTheOthersStillAnswer(t *testing.T) {
	const unreachable = "127.0.0.1:1"
	if _, err := open(t, unreachable).GetMulti(t.Context(), []string{"key"}); err == nil {
		t.Error("GetMulti without a server: no error")
	}
	live := servertest.Memcached(t)
	half, kept := open(t, live, unreachable), 0
	for i := range 20 {
		if half.Set(t.Context(), fmt.Sprint(i), []byte("x")) == nil {
			kept++
		}
	}
	keys := make([]string, 20)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	found, err := half.GetMulti(t.Context(), keys)
	if err == nil || len(found) != kept || kept == 0 {
		t.Errorf("found %d of %d kept, error %v; want all kept and an error", len(found), kept, err)
	}
}

func TestOpenRefusesWhatIsNoAddress(t *testing.T) {
	for _, addresses := range []string{"", "localhost", "127.0.0.1:11211,", ":11211", "a:1, b", "file:/local/need-rate"} {
		if _, err := cache.Open(addresses); err == nil {
			t.Errorf("%q: no error", addresses)
		}
	}
}

func want(t *testing.T, c cache.Cache, want map[string]string, keys ...string) {
	t.Helper()
	found, err := c.GetMulti(t.Context(), keys)
	check(t, err)
	got := map[string]string{}
	for key, value := range found {
		got[key] = string(value)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
