package rpc

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/resolver"
)

// lookInterval is how soon a replica that is new gets calls. Whether one that is listed really answers is known at
// once from its connection and its health, so nothing waits for a list to shrink.
const lookInterval = time.Second

// unread is what no list says.
const unread = "\x00"

// follower tells a connection which replicas there are, whenever that changes.
type follower struct {
	source     string
	look       func(context.Context) (string, error) // the list now: "ip:port,ip:port"
	connection resolver.ClientConn
	context    context.Context
	stop       context.CancelFunc
	stopped    chan struct{}
}

func newFollower(source string, connection resolver.ClientConn, look func(context.Context) (string, error)) follower {
	ctx, stop := context.WithCancel(context.Background())
	return follower{source, look, connection, ctx, stop, make(chan struct{})}
}

// ResolveNow has nothing to add: the next look is a second away at most.
func (f follower) ResolveNow(resolver.ResolveNowOptions) {}

// Close returns once the connection gets no further updates.
func (f follower) Close() {
	f.stop()
	<-f.stopped
}

func (f follower) follow(last string) {
	defer close(f.stopped)
	again := time.NewTicker(lookInterval)
	defer again.Stop()
	for f.context.Err() == nil {
		last = f.read(last)
		select {
		case <-f.context.Done():
		case <-again.C:
		}
	}
}

// read updates the connection if the list has changed; it returns the list.
// Of an invalid or unreadable list only the error is reported: the connection keeps the last valid one.
func (f follower) read(last string) string {
	text, err := f.look(f.context)
	if f.context.Err() != nil {
		return last
	}
	if err != nil {
		f.connection.ReportError(fmt.Errorf("list of replicas: %w", err))
		return unread
	}
	if text == last {
		return last
	}
	addresses, err := parseList(text)
	if err != nil {
		f.connection.ReportError(fmt.Errorf("list of replicas %s: %w", f.source, err))
		return text
	}
	var replicas resolver.State
	for _, address := range addresses {
		replicas.Addresses = append(replicas.Addresses, resolver.Address{Addr: address})
	}
	_ = f.connection.UpdateState(replicas) // it says that none are listed; the next look is due anyway
	return text
}

// parseList returns the addresses of a list; they are separated by commas or white space.
func parseList(text string) ([]string, error) {
	addresses := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, address := range addresses {
		host, port, err := net.SplitHostPort(address)
		number, notANumber := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || notANumber != nil || number == 0 {
			return nil, fmt.Errorf("%q is not host:port", address)
		}
	}
	return addresses, nil
}
