package accounts

import (
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestAPasswordIsKnownByItsHash(t *testing.T) {
	for _, password := range []string{"password_0", "ü", " ", strings.Repeat("x", 72)} {
		hash, err := Hash(password, SeedCost)
		if err != nil {
			t.Fatal(err)
		}
		if !Check(hash, "", password) {
			t.Errorf("%q is not known by %s", password, hash)
		}
		for _, other := range []string{"", password + "x", password + "\x00" + password, password[:len(password)-1], strings.ToUpper(password) + "!"} {
			if Check(hash, "", other) {
				t.Errorf("%q passes for %q", other, password)
			}
		}
		if again, _ := Hash(password, SeedCost); again == hash {
			t.Errorf("%q has the same hash twice: no salt", password)
		}
	}
}

func TestHashesOfPeopleAreNotCheap(t *testing.T) {
	if Cost != 10 {
		t.Errorf("cost %d", Cost)
	}
}

func TestTheCostIsTheRequestedOne(t *testing.T) {
	hash, err := Hash("secret", SeedCost+1)
	if cost, _ := bcrypt.Cost([]byte(hash)); err != nil || cost != SeedCost+1 {
		t.Errorf("cost %d, %v", cost, err)
	}
}

// The SHA-256 of "password_0salt", by sha256sum.
const published = "e08c3e5ac4bdae6671785beac7f4ccb0a7540fefe57071983d0a541decddda80"

func TestTheLegacyHashIsThePublishedOne(t *testing.T) {
	if got := LegacyHash("password_0", "salt"); got != published {
		t.Errorf("%s, want %s", got, published)
	}
	if !Check(published, "salt", "password_0") || Check(published, "other", "password_0") || Check(published, "salt", "password_1") {
		t.Error("a legacy hash is checked wrongly")
	}
	if Check("", "", "") || Check("$2a$", "", "") || Check("$2", "salt", "x") {
		t.Error("what is no hash knows a password")
	}
}

func TestWhichNamesAndPasswordsAreTaken(t *testing.T) {
	for username, says := range map[string]string{
		"username_0": "", "A-z_9": "", strings.Repeat("a", 64): "",
		"":                      "the username is empty",
		strings.Repeat("a", 65): "the username has 65 characters; at most 64 are taken",
		"two words":             `the username "two words" has characters other than letters (a-z), digits, - and _`,
		"a\x00b":                `the username "a\x00b" has characters other`,
		"müller":                `the username "müller" has characters other`,
		"a\nb":                  `the username "a\nb" has characters other`,
		"\xff":                  `the username "\xff" has characters other`,
	} {
		expect(t, username, CheckUsername(username), says)
	}
	for password, says := range map[string]string{
		"x": "", strings.Repeat("x", 72): "",
		"":                      "the password is empty",
		"x\x00x":                "the password has a NUL character",
		strings.Repeat("x", 73): "the password has 73 bytes; at most 72 are taken",
	} {
		expect(t, password, CheckPassword(password), says)
		_, err := Hash(password, SeedCost)
		expect(t, password, err, says)
	}
}

func expect(t *testing.T, value string, err error, says string) {
	t.Helper()
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%q: %v, want %q", value, err, says)
	}
}
