package media

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestTokens(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_123)
	own := tokens{secret: "secret", now: func() time.Time { return now }}
	const id = 1<<62 + 1
	token := own.sign(id)
	if got, err := own.read(token); got != id || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if want := `{"user_id":"4611686018427387905","timestamp":"1700000000123","TTL":"60000"}`; string(payload) != want || err != nil {
		t.Errorf("payload %s, %v; want %s", payload, err, want)
	}
	now = now.Add(59 * time.Second)
	if _, err := own.read(token); err != nil {
		t.Errorf("after 59 s: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := own.read(token); err == nil {
		t.Error("a token lives longer than a minute")
	}
}

func TestWrongTokens(t *testing.T) {
	own := tokens{secret: "secret"}
	good := own.sign(1)
	parts := strings.Split(good, ".")
	payload := tokenPayload{UserID: "1", Timestamp: "99999999999999", TTL: "60000"}
	sign := func(method jwt.SigningMethod, key any, payload jwt.Claims) string {
		token, err := jwt.NewWithClaims(method, payload).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for name, token := range map[string]string{
		"empty":             "",
		"no token":          "a.b.c",
		"another secret":    tokens{secret: "other"}.sign(1),
		"another algorithm": sign(jwt.SigningMethodHS512, []byte("secret"), payload),
		"none":              sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, payload),
		"a changed payload": parts[0] + "." + strings.ToUpper(parts[1]) + "." + parts[2],
		"no user":           sign(jwt.SigningMethodHS256, []byte("secret"), tokenPayload{Timestamp: payload.Timestamp, TTL: "60000"}),
		"a negative user":   sign(jwt.SigningMethodHS256, []byte("secret"), tokenPayload{"-1", payload.Timestamp, "60000"}),
		"no time":           sign(jwt.SigningMethodHS256, []byte("secret"), tokenPayload{UserID: "1", TTL: "60000"}),
		"no TTL":            sign(jwt.SigningMethodHS256, []byte("secret"), tokenPayload{UserID: "1", Timestamp: payload.Timestamp}),
	} {
		if id, err := own.read(token); err == nil {
			t.Errorf("%s: read as user %d", name, id)
		}
	}
	if id, err := own.read(sign(jwt.SigningMethodHS256, []byte("secret"), payload)); id != 1 || err != nil {
		t.Errorf("the one that the others differ from: %d, %v", id, err)
	}
}
