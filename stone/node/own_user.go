package node

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"strconv"
)

// Users of deployments are numbers that no other program gives out: above those of containers that have users of their own, or,
// where this machine is itself such a container, those of services that systemd makes for a moment. See
// https://systemd.io/UIDS-GIDS.
var ownUsers = []struct{ first, last uint64 }{{1_879_048_192, 2_147_483_646}, {61_184, 65_519}}

// ownUser is the number of a user that no account and, as good as certainly, no other deployment has.
func ownUser(proc string) (string, error) {
	mapped, err := os.ReadFile(proc + "/self/uid_map")
	if err != nil {
		return "", err
	}
	var inside, outside, count uint64 // the first line; more than one has no container that is root inside
	if _, err := fmt.Sscan(string(mapped), &inside, &outside, &count); err != nil {
		return "", fmt.Errorf("%s/self/uid_map: %w", proc, err)
	}
	for _, users := range ownUsers {
		if inside > users.first || users.last >= inside+count {
			continue
		}
		for range 100 {
			number := strconv.FormatUint(users.first+rand.Uint64N(users.last-users.first), 10)
			if _, err := user.LookupId(number); err != nil {
				return number, nil
			}
		}
	}
	return "", faultf(Failed, "this machine has %d users, too few for one of a deployment's own", count).
		with("give its container a range of at least 65536 users")
}
