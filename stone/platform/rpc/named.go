package rpc

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/resolver"
)

// lookupTimeout ends a look-up; an answer in DNS takes far less, and another is due in a second.
const lookupTimeout = 5 * time.Second

// lookup returns the addresses of a name; a test replaces it.
var lookup = net.DefaultResolver.LookupHost

// named resolves a name in DNS to all its addresses, and again every second. The resolver that comes with
// gRPC resolves once and then when a connection fails: of several replicas that become ready one after the other, only
// those that were there at the first question would ever get calls.
type named struct{}

func (named) Scheme() string { return "named" }

// Build starts to ask; nothing is known yet when it returns.
func (named) Build(target resolver.Target, connection resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	host, port, err := net.SplitHostPort(target.Endpoint())
	if err != nil {
		return nil, err
	}
	follower := newFollower(target.Endpoint(), connection, func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		found, err := lookup(ctx, host)
		if err != nil {
			return "", err
		}
		for i, address := range found {
			found[i] = net.JoinHostPort(address, port)
		}
		slices.Sort(found) // a server answers in an order that changes
		return strings.Join(found, ","), nil
	})
	go follower.follow(unread)
	return follower, nil
}
