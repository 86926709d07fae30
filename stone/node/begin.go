package node

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/node/groups"
)

type beginArgs struct {
	Deployment string `json:"deployment"`
	Digest     string `json:"digest"`
	Owner      string `json:"owner"`
	// Limits of all its processes together.
	Limits groups.Limits `json:"limits"`
}

// Begun is where a deployment's parts go on this machine.
type Begun struct {
	Folder           string  `json:"folder"`
	User             string  `json:"user"` // the number of a user that no other deployment has; empty where we are not root
	Group            *string `json:"group"`
	UnlimitedBecause string  `json:"unlimited_because"`
}

// begin puts a deployment into the journal, and makes its folder and its control group. Beginning it again gives the
// same answer.
func (n *Node) begin(ctx context.Context, _ *call, args beginArgs) (answer, error) {
	if err := checkName("deployment", args.Deployment); err != nil {
		return answer{}, err
	}
	if args.Digest == "" {
		return answer{}, faultf(Input, "digest is empty")
	}
	if err := makeFolder(n.deployments()); err != nil {
		return answer{}, err
	}
	unlock, err := lock(ctx, n.deployments(), unix.LOCK_EX)
	if err != nil {
		return answer{}, err
	}
	defer unlock()
	entry, mine, err := n.hold(ctx, args)
	if err != nil {
		return answer{}, err
	}
	defer mine()
	for _, folder := range []string{entry.data(), filepath.Dir(entry.log("")), entry.process("")} {
		if err := makeFolder(folder); err != nil {
			return answer{}, err
		}
	}
	if entry.Group != nil {
		if err := n.groups.Make(*entry.Group, args.Limits); err != nil {
			return answer{}, err
		}
	}
	return answer{value: Begun{entry.data(), entry.User, entry.Group, entry.UnlimitedBecause}}, nil
}

// hold enters a deployment and locks it, so that no node ends it meanwhile. One that a node was ending is entered anew.
func (n *Node) hold(ctx context.Context, args beginArgs) (*journaled, func(), error) {
	for {
		entry, err := n.enter(args)
		if err != nil {
			return nil, nil, err
		}
		unlock, err := lock(ctx, entry.at, unix.LOCK_SH)
		if err == nil || asFault(err).Kind != Missing {
			return entry, unlock, err
		}
	}
}

// makeFolder makes a folder that others pass through, to data of their own, and cannot read: who can open a folder can lock
// it (flock(2)) and hold up the process that waits.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o711); err != nil {
		return err
	}
	return os.Chmod(path, 0o711) // also one that an earlier release made
}

// enter finds a deployment's entry, or makes it.
func (n *Node) enter(args beginArgs) (*journaled, error) {
	entry, err := n.find(args.Deployment)
	if err == nil {
		if entry.Digest != args.Digest {
			fault := faultf(Refused, "a deployment %q with other settings (digest %s) is on this machine; its owner is %s",
				entry.Deployment, entry.Digest, entry.Owner).with("end it first, or give this one another name")
			fault.Owner = entry.Owner
			return nil, fault
		}
		return entry, nil
	}
	if fault := (*Fault)(nil); !errors.As(err, &fault) || fault.Kind != Missing {
		return nil, err
	}
	entry = &journaled{
		Version: 1, Deployment: args.Deployment, Digest: args.Digest, Owner: args.Owner,
		UnlimitedBecause: n.groups.Problem(),
		at:               filepath.Join(n.deployments(), args.Deployment),
	}
	if os.Geteuid() == 0 {
		if entry.User, err = ownUser(n.Proc); err != nil {
			return nil, err
		}
	}
	if entry.UnlimitedBecause == "" {
		// Nodes with other journals may have deployments of the same name on this kernel.
		group := n.Group + "/" + args.Deployment + "-" + strings.ToLower(rand.Text()[:6])
		entry.Group = &group
	}
	if err := makeFolder(entry.at); err != nil {
		return nil, err
	}
	return entry, saveJSON(filepath.Join(entry.at, "deployment.json"), entry)
}
