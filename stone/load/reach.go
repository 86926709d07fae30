package load

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/mistake"
)

// lookup resolves a name; one that is an address stands for itself.
type lookup func(ctx context.Context, name string) ([]netip.Addr, error)

func resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// reached is what the names of a plan stand for.
type reached struct {
	targets []address
	refused []string // addresses that accepted no connection
}

func (r *reached) names() []string {
	list := []string{}
	for _, target := range r.targets {
		list = append(list, target.name.String())
	}
	return list
}

// reach resolves host:port. Its addresses are all of one family, IPv4 or IPv6: that of the first in the resolver's order
// which accepts a connection. Those that accept none are left out, and named.
func (r *reached) reach(find lookup, host string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	name, service, err := net.SplitHostPort(host)
	if err != nil {
		return err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return err
	}
	found, err := find(ctx, name)
	if err != nil {
		return err
	}
	var all []netip.AddrPort
	for _, ip := range found {
		if a := netip.AddrPortFrom(ip.Unmap(), uint16(port)); !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	failures := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(32)
	for i, a := range all {
		group.Go(func() error {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "tcp", a.String())
			if failures[i] = err; err == nil {
				_ = conn.Close()
			}
			return nil
		})
	}
	_ = group.Wait()
	first := slices.Index(failures, nil)
	switch {
	case len(all) == 0:
		return fmt.Errorf("%s has no address", name)
	case first < 0:
		return failures[0]
	}
	for i, a := range all {
		switch {
		case a.Addr().Is4() != all[first].Addr().Is4():
		case failures[i] != nil:
			r.refused = append(r.refused, a.String())
		default:
			r.targets = append(r.targets, newAddress(a))
		}
	}
	return nil
}

// checkSources sees that connections can be made from the plan's own addresses.
func (p *Plan) checkSources(targets []address) error {
	p.sources = nil
	for i, text := range p.SourceAddresses {
		key := fmt.Sprintf("source_addresses[%d]", i)
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return mistake.New(key, "%q is not an IP address", text)
		}
		source := newAddress(netip.AddrPortFrom(ip.Unmap(), 0))
		for _, target := range targets {
			if target.family != source.family {
				return mistake.New(key, "%s cannot reach %s: one is IPv4, the other IPv6", text, target.name)
			}
		}
		fd, err := unix.Socket(source.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		err = unix.Bind(fd, source.sockaddr)
		_ = unix.Close(fd)
		if err != nil {
			return mistake.New(key, "cannot send from %s: %v; give an address of this machine", text, err)
		}
		p.sources = append(p.sources, source.sockaddr)
	}
	return nil
}

// mostPorts is how many connections one address can have to another at a time, about.
const mostPorts = 60_000

// checkPorts sees that this worker's connections find ports.
func (p *Plan) checkPorts(targets int) error {
	if p.slots() > 1 {
		return nil
	}
	part := p.part()
	own, pairs := portion(p.Connections, part.Of, part.Number), targets*max(len(p.SourceAddresses), 1)
	if p.Policy == growingPolicy {
		own = max(own, portion(p.MostConnections, part.Of, part.Number))
	}
	if own > mostPorts*pairs {
		return mistake.New("connections", "%d of this worker are more than %d, which is what TCP's ports allow to %d of the target's addresses from %d "+
			"of its own; give more source_addresses, or use more workers", own, mostPorts*pairs, targets, max(len(p.SourceAddresses), 1))
	}
	return nil
}
