package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// User may book. Password is the SHA-256 of the password, in hexadecimal.
type User struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// lastUser is the number of the last user; the first is 0.
const lastUser = 500

// AllUsers lists Cornell_0 to Cornell_500, each with its number written ten times as the password.
//
// Quirk: the published application stores the number's digits in hexadecimal (user 1 is Cornell_31),
// so that none of the workload's logins succeeds. It changes no path of a request, only its answer.
func AllUsers(quirks bool) []User {
	users := make([]User, 0, lastUser+1)
	for i := 0; i <= lastUser; i++ {
		number := strconv.Itoa(i)
		name := "Cornell_" + number
		if quirks {
			name = fmt.Sprintf("Cornell_%x", number)
		}
		users = append(users, User{name, HashPassword(strings.Repeat(number, 10))})
	}
	return users
}

// HashPassword is the form in which passwords are stored.
func HashPassword(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}
