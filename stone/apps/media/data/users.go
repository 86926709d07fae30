package data

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

// UserAt is a seeded user by number, from 1, without password.
func UserAt(number int) User {
	text := strconv.Itoa(number)
	return User{
		UserID: int64(number), FirstName: "first_name_" + text, LastName: "last_name_" + text, Username: "username_" + text,
	}
}

// PasswordOf is what a seeded user logs in with.
func PasswordOf(number int) string { return "password_" + strconv.Itoa(number) }

func (s *Seed) fillUsers(ctx context.Context, into *seeding.Opened, row *seeding.Row) error {
	err := s.verifyUsers(ctx, into, row)
	if err != nil || row.Have == row.Want && row.Differing == 0 {
		return err
	}
	return s.putUsers(ctx, into, row)
}

func (s *Seed) resetUsers(ctx context.Context, into *seeding.Opened, row *seeding.Row) error {
	err := s.verifyUsers(ctx, into, row)
	if err != nil || row.Have == row.Want && row.Differing == 0 {
		return err
	}
	if err := into.Collection(Users).Clear(ctx); err != nil {
		return err
	}
	return s.putUsers(ctx, into, row)
}

func (s *Seed) putUsers(ctx context.Context, into *seeding.Opened, row *seeding.Row) error {
	collection := into.Collection(Users)
	for _, index := range Indexes(Users, s.quirks) {
		if err := collection.EnsureIndex(ctx, index.Field, index.Unique); err != nil {
			return err
		}
	}
	items := make([]documents.Keyed, s.users)
	err := s.eachUser(into, "passwords", s.users, func(i int) (err error) {
		items[i].Key = strconv.Itoa(i + 1)
		items[i].Document, err = s.protected(i + 1)
		return err
	})
	if err != nil {
		return err
	}
	if err := collection.Load(ctx, slices.Values(items)); err != nil {
		return err
	}
	return s.verifyUsers(ctx, into, row)
}

// protected is a user with the hash of the password. Quirk: one that is fast to guess.
func (s *Seed) protected(number int) (User, error) {
	user := UserAt(number)
	var err error
	if s.quirks {
		var salt [16]byte
		rand.NewChaCha8([32]byte{byte(number), byte(number >> 8), byte(number >> 16)}).Read(salt[:])
		user.Salt = hex.EncodeToString(salt[:])
		user.Password = accounts.LegacyHash(PasswordOf(number), user.Salt)
	} else {
		user.Password, err = accounts.Hash(PasswordOf(number), accounts.SeedCost)
	}
	return user, err
}

func (s *Seed) countUsers(ctx context.Context, in *seeding.Opened, row *seeding.Row) (err error) {
	row.Have, err = in.Collection(Users).Count(ctx)
	return err
}

// verifyUsers looks whether every user is there and can log in.
func (s *Seed) verifyUsers(ctx context.Context, in *seeding.Opened, row *seeding.Row) error {
	var users []User
	if err := in.Collection(Users).Find(ctx, &users, documents.Query{}); err != nil {
		return err
	}
	row.Have, row.Differing = len(users), 0
	if row.Have != row.Want {
		return nil
	}
	var right atomic.Int64
	err := s.eachUser(in, "users", len(users), func(i int) error {
		if user := users[i]; user.UserID >= 1 && user.UserID <= int64(s.users) && s.isSeeded(user) {
			right.Add(1)
		}
		return nil
	})
	row.Differing = row.Want - int(right.Load())
	return err
}

func (s *Seed) isSeeded(user User) bool {
	want := UserAt(int(user.UserID))
	want.Password, want.Salt = user.Password, user.Salt
	return user == want && (user.Salt != "") == s.quirks && accounts.Check(user.Password, user.Salt, PasswordOf(int(user.UserID)))
}

// eachUser does something for each of so many, on all cores: hashes take time.
func (s *Seed) eachUser(in *seeding.Opened, what string, count int, do func(i int) error) error {
	in.Progress.Begin(what, count)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range count {
		group.Go(func() error {
			if err := do(i); err != nil {
				return fmt.Errorf("user %d: %w", i+1, err)
			}
			in.Progress.Add(1)
			return nil
		})
	}
	return group.Wait()
}
