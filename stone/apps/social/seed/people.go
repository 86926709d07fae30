package seed

import (
	"fmt"
	"math/rand/v2"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/accounts"
)

// founded is when everybody registered and began to follow the others: 2020-01-01, in milliseconds since 1970.
const founded = 1_577_836_800_000

// Streams of random numbers: each thing of the seed has its own, so that it can be made alone.
const (
	saltStream = iota + 1
	countStream
	mentionStream
	postStream
	addressStream
)

func random(stream, of int) *rand.Rand { return rand.New(rand.NewPCG(uint64(stream), uint64(of))) }

func username(user int) string { return fmt.Sprint("username_", user) }
func password(user int) string { return fmt.Sprint("password_", user) }

// user is an account as published (scripts/init_social_graph.py), its password not hashed yet.
func (s *Seed) user(user int) []data.User {
	return []data.User{{
		UserID: int64(user), FirstName: fmt.Sprint("first_name_", user), LastName: fmt.Sprint("last_name_", user),
		Username: username(user),
	}}
}

// hash hashes the password of a user, which takes a millisecond.
//
// Quirk: by SHA-256 with a salt of 32 letters and digits.
func (s *Seed) hash(user *data.User) (err error) {
	number := int(user.UserID)
	if s.quirks {
		user.Salt = letters(random(saltStream, number), alphanumeric, 32)
		user.Password = accounts.LegacyHash(password(number), user.Salt)
		return nil
	}
	user.Password, err = accounts.Hash(password(number), accounts.SeedCost)
	return err
}

// sameUser compares all but the hash, which differs each time, and checks the password with it.
func (s *Seed) sameUser(held, want data.User) bool {
	hash, salt := held.Password, held.Salt
	if s.quirks && s.hash(&want) != nil {
		return false
	}
	if !s.quirks {
		held.Password = ""
	}
	return held == want && accounts.Check(hash, salt, password(int(want.UserID)))
}

// node makes every edge two follows.
func (s *Seed) node(user int) ([]data.Node, error) {
	g, err := s.graph()
	if err != nil {
		return nil, err
	}
	neighbours := g.Neighbours(user)
	edges := make([]data.Edge, len(neighbours))
	for i, other := range neighbours {
		edges[i] = data.Edge{UserID: int64(other), Timestamp: founded}
	}
	return []data.Node{{UserID: int64(user), Followers: edges, Followees: edges}}, nil
}
