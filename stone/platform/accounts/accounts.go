// Package accounts is what applications know about accounts: which names and passwords they take, hashes of passwords,
// and the tokens that say who is logged in.
package accounts

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// SeedCost is what bcrypt shall cost for seeded users, whose passwords everybody knows; each step takes twice the time.
const SeedCost = 4

// Cost is what it shall cost for people who register. Tests of applications lower it: with the race detector a hash of 10
// takes a second.
var Cost = 10

const (
	longestPassword = 72
	longestUsername = 64
)

// usernameCharacters are those that a mention can have, so that everybody can be mentioned.
const usernameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// CheckUsername says why a username is not taken; nil if it is.
func CheckUsername(username string) error {
	switch {
	case username == "":
		return errors.New("the username is empty")
	case len(username) > longestUsername:
		return fmt.Errorf("the username has %d characters; at most %d are taken", len(username), longestUsername)
	case strings.Trim(username, usernameCharacters) != "":
		return fmt.Errorf("the username %q has characters other than letters (a-z), digits, - and _", username)
	}
	return nil
}

// CheckPassword says why a password is not taken; nil if it is. To bcrypt passwords are the same that differ only after
// 72 bytes, or that are one text once and again with NUL characters between.
func CheckPassword(password string) error {
	switch {
	case password == "":
		return errors.New("the password is empty")
	case len(password) > longestPassword:
		return fmt.Errorf("the password has %d bytes; at most %d are taken", len(password), longestPassword)
	case strings.Contains(password, "\x00"):
		return errors.New("the password has a NUL character")
	}
	return nil
}

// Hash is a bcrypt hash, which holds its own salt. It fails as CheckPassword does.
func Hash(password string, cost int) (string, error) {
	if err := CheckPassword(password); err != nil {
		return "", err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	return string(hash), err
}

// LegacyHash is what the published applications store: the SHA-256 of password and salt, in hexadecimal digits.
func LegacyHash(password, salt string) string {
	sum := sha256.Sum256([]byte(password + salt))
	return hex.EncodeToString(sum[:])
}

// Check says whether a password is the hashed one. The hash tells its function; the salt belongs to LegacyHash.
func Check(hash, salt, password string) bool {
	if strings.HasPrefix(hash, "$2") {
		return CheckPassword(password) == nil && bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
	}
	return subtle.ConstantTimeCompare([]byte(hash), []byte(LegacyHash(password, salt))) == 1
}
