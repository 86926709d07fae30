package rpc

import (
	"fmt"
	"net/url"

	"google.golang.org/grpc/resolver"
)

// Watch follows the replicas of a service for clients that do not speak gRPC, under the rules of Dial: tell is given
// their addresses (host:port) once they are known and whenever they change, complain why they cannot be had. They are
// called by one goroutine at a time, at first by this one. Stop ends it.
func Watch(tell func(addresses []string), complain func(error), addresses ...string) (stop func(), err error) {
	target, replicas := target(addresses)
	parsed, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("client of %v: %w", addresses, err)
	}
	watching, err := replicas.Build(resolver.Target{URL: *parsed}, teller{tell: tell, complain: complain}, resolver.BuildOptions{})
	if err != nil {
		return nil, fmt.Errorf("client of %v: %w", addresses, err)
	}
	return watching.Close, nil
}

// teller passes on what a resolver says; the rest of its interface is gRPC's own.
type teller struct {
	resolver.ClientConn
	tell     func([]string)
	complain func(error)
}

func (t teller) UpdateState(state resolver.State) error {
	addresses := make([]string, len(state.Addresses))
	for i, address := range state.Addresses {
		addresses[i] = address.Addr
	}
	t.tell(addresses)
	return nil
}

func (t teller) ReportError(err error) { t.complain(err) }
