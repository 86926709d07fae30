package rpc

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"google.golang.org/grpc/resolver"
)

// listed resolves to the replicas that a file lists now. None are listed by a file that is empty or not there yet;
// calls fail until some are.
type listed struct{ file string }

func (listed) Scheme() string { return "listed" }

// Build starts to follow the file; what it lists now is known when Build returns.
func (l listed) Build(_ resolver.Target, connection resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	follower := newFollower(l.file, connection, func(context.Context) (string, error) {
		text, err := os.ReadFile(l.file)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return string(text), err
	})
	last := follower.read(unread)
	go follower.follow(last)
	return follower, nil
}
