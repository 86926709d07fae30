package node

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// firstPort is below the range that Linux gives to outgoing connections (32768 and up).
	firstPort = 20_000
	lastPort  = 65_535
	mostPorts = 1000
)

type portsArgs struct {
	Address string `json:"address"` // empty: all of the machine's
	Count   int    `json:"count"`
	Wanted  []int  `json:"wanted"`
}

// Ports are free and claimed for this channel.
type Ports struct {
	Ports []int `json:"ports"`
}

// ports finds free ports: the i-th is the i-th that is wanted where that is free, else the next free one above all that
// are wanted. Between this answer and the moment that something listens lie seconds. Until the channel ends, no other
// client of a node of this user's is given these ports.
func (n *Node) ports(_ context.Context, _ *call, args portsArgs) (answer, error) {
	if args.Count < 1 || args.Count > mostPorts || len(args.Wanted) > args.Count {
		return answer{}, faultf(Input, "%d ports, of which %d are wanted: give 1 to %d", args.Count, len(args.Wanted), mostPorts)
	}
	for _, port := range args.Wanted {
		if port < 1 || port > lastPort {
			return answer{}, faultf(Input, "port %d: give 1 to %d", port, lastPort)
		}
	}
	if _, err := portsFolder(); err != nil {
		return answer{}, err
	}
	probe, err := net.Listen("tcp", net.JoinHostPort(args.Address, "0"))
	if err != nil {
		return answer{}, faultf(Input, "address %.80q is none of this machine: %s", args.Address, err)
	}
	_ = probe.Close()
	next, found := max(firstPort, slices.Max(append(args.Wanted, 0))+1), make([]int, 0, args.Count)
	for i := range args.Count {
		if i < len(args.Wanted) && !slices.Contains(found, args.Wanted[i]) && n.claims.take(args.Wanted[i], args.Address) {
			found = append(found, args.Wanted[i])
			continue
		}
		for ; next <= lastPort && !n.claims.take(next, args.Address); next++ {
		}
		if next > lastPort {
			return answer{}, faultf(Failed, "only %d of %d ports are free on %s", len(found), args.Count, args.Address)
		}
		found = append(found, next)
		next++
	}
	return answer{value: Ports{found}}, nil
}

// claims are locked files, one a port: a lock ends with its process, however that ends.
type claims struct {
	mu    sync.Mutex
	files map[int]*os.File
}

// take a port, if nothing listens on it and no other client was given it.
func (c *claims) take(port int, address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[int]*os.File{}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port))) // as servers do, with SO_REUSEADDR
	if err != nil {
		return false
	}
	defer listener.Close()
	if c.files[port] != nil {
		return true
	}
	file, err := lockPort(port)
	if err != nil {
		return false
	}
	c.files[port] = file
	return true
}

// lockPort locks the file of a port.
func lockPort(port int) (*os.File, error) {
	folder, err := portsFolder()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, strconv.Itoa(port))
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// portsFolder is a folder of this user's, which no other can enter: who could make a file there could hold a port back, or
// a node up.
func portsFolder() (string, error) {
	folder := filepath.Join(cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()), "loadstone-ports-"+strconv.Itoa(os.Geteuid()))
	if os.Geteuid() == 0 {
		folder = "/run/loadstone/ports"
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	var found unix.Stat_t
	if err := unix.Lstat(folder, &found); err != nil {
		return "", err
	}
	if found.Mode&unix.S_IFMT != unix.S_IFDIR || int(found.Uid) != os.Geteuid() || found.Mode&0o077 != 0 {
		return "", faultf(Refused, "%s is not a folder of user %d's alone", folder, os.Geteuid()).with("remove it")
	}
	return folder, nil
}

// close gives all ports back.
func (c *claims) close() {
	for _, file := range c.files {
		_ = file.Close()
	}
}
