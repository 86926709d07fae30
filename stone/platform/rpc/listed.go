package rpc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/resolver"
)

// rereadInterval is how soon a replica that an orchestrator lists gets calls. Whether one that is listed
// really answers is known at once from its connection and its health, so nothing waits for a list to shrink.
const rereadInterval = time.Second

// unread is what no file says.
const unread = "\x00"

// listed resolves to the replicas that a file lists now: "ip:port,ip:port". None are listed by a file that
// is empty or not there yet; calls fail until some are.
type listed struct{ file string }

func (listed) Scheme() string { return "listed" }

// Build starts to follow the file; what it lists now is known when Build returns.
func (l listed) Build(_ resolver.Target, connection resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	follower := follower{file: l.file, connection: connection, stop: make(chan struct{}), stopped: make(chan struct{})}
	last := follower.read(unread)
	go follower.follow(last)
	return follower, nil
}

type follower struct {
	file          string
	connection    resolver.ClientConn
	stop, stopped chan struct{}
}

// ResolveNow has nothing to add: the next reading is a second away at most.
func (f follower) ResolveNow(resolver.ResolveNowOptions) {}

// Close returns when nothing will be told to the connection any more.
func (f follower) Close() {
	close(f.stop)
	<-f.stopped
}

func (f follower) follow(last string) {
	defer close(f.stopped)
	again := time.NewTicker(rereadInterval)
	defer again.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-again.C:
			last = f.read(last)
		}
	}
}

// read tells the connection what the file says if that is not what it said last; it returns what it says.
// Of a list that makes no sense, or cannot be read, only the complaint is told: the connection keeps the last good one.
func (f follower) read(last string) string {
	text, err := os.ReadFile(f.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.connection.ReportError(fmt.Errorf("list of replicas: %w", err))
		return err.Error()
	}
	if string(text) == last {
		return last
	}
	addresses, err := parseList(string(text))
	if err != nil {
		f.connection.ReportError(fmt.Errorf("list of replicas %s: %w", f.file, err))
		return string(text)
	}
	var replicas resolver.State
	for _, address := range addresses {
		replicas.Addresses = append(replicas.Addresses, resolver.Address{Addr: address})
	}
	_ = f.connection.UpdateState(replicas) // it says that none are listed; the next reading is due anyway
	return string(text)
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
