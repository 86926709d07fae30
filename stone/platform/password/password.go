// Package password has the password that all stores of a deployment share. It is in an environment variable alone: what is
// in arguments every user of a machine can read, and addresses stand in plans and results.
package password

import "net/url"

// Variable is the environment variable with the password; stores have none where it is not set.
const Variable = "STONE_STORE_PASSWORD"

// In is the URL of a store with the password of the account that it names. What names none stays as it is, as does what has
// a password of its own.
func In(address, password string) string {
	parsed, err := url.Parse(address)
	if err != nil || password == "" || parsed.User == nil {
		return address
	}
	if _, has := parsed.User.Password(); has {
		return address
	}
	parsed.User = url.UserPassword(parsed.User.Username(), password)
	return parsed.String()
}
