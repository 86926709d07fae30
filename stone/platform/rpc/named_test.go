package rpc

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// answer makes DNS say this from now on; no address stands for an error.
func answer(t *testing.T) func(addresses ...string) {
	t.Helper()
	var listed atomic.Pointer[[]string]
	before := lookup
	t.Cleanup(func() { lookup = before })
	lookup = func(_ context.Context, name string) ([]string, error) {
		if name != "geo" || len(*listed.Load()) == 0 {
			return nil, errors.New("no such host")
		}
		return append([]string(nil), *listed.Load()...), nil
	}
	return func(addresses ...string) { listed.Store(&addresses) }
}

// Replicas become ready one after the other, and each is in DNS from then on.
func TestReplicasThatJoinANameLaterGetCallsToo(t *testing.T) {
	a, _, address := start(t, "127.0.0.1:0", good)
	_, port, _ := net.SplitHostPort(address)
	b, _, _ := start(t, "127.0.0.2:"+port, good)
	say := answer(t)
	say()
	connection, client := dial(t, "geo:"+port)
	eventually(t, "calls fail with the reason", func() bool {
		_, err := client.Check(t.Context(), nil)
		return err != nil && strings.Contains(err.Error(), "no such host") && Connected(connection)(t.Context()) != nil
	})
	say("127.0.0.1")
	share(t, client, []*replica{a}, b)
	say("127.0.0.2", "127.0.0.1")
	share(t, client, []*replica{a, b})
	say()
	share(t, client, []*replica{a, b}) // what was known last is better than nothing
	say("127.0.0.2")
	share(t, client, []*replica{b}, a)
}
