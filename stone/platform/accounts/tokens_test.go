package accounts

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var issued = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// tokens are those of a secret at a time after issued.
func tokens(secret string, after time.Duration) Tokens {
	return Tokens{Secret: secret, now: func() time.Time { return issued.Add(after) }}
}

func TestATokenIsTheSessionForAnHour(t *testing.T) {
	session := Session{UserID: 1<<62 + 1, Username: "username_1"}
	token := tokens("s", 0).Sign(session)
	if got, err := tokens("s", time.Hour-time.Second).Read(token); err != nil || got != session {
		t.Errorf("read %+v, %v", got, err)
	}
	if _, err := tokens("s", time.Hour+time.Second).Read(token); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an hour later: %v", err)
	}
	if got, err := (Tokens{Secret: "s"}).Read(Tokens{Secret: "s"}.Sign(session)); err != nil || got != session {
		t.Errorf("by the real clock: %+v, %v", got, err)
	}
}

func TestThePayloadIsThePublishedOne(t *testing.T) {
	parts := strings.Split(tokens("s", 0).Sign(Session{UserID: 7, Username: "u"}), ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var payload map[string]any
	if err := json.Unmarshal(text, &payload); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"user_id": "7", "username": "u", "timestamp": "1777896000", "ttl": "3600"}
	if !maps.Equal(payload, want) {
		t.Errorf("payload %v, want %v", payload, want)
	}
}

func TestWhatIsNoTokenIsRefused(t *testing.T) {
	good := jwt.MapClaims{"user_id": "7", "username": "u", "timestamp": "1777896000", "ttl": "3600"}
	with := func(name string, value any) jwt.MapClaims {
		changed := maps.Clone(good)
		if changed[name] = value; value == nil {
			delete(changed, name)
		}
		return changed
	}
	sign := func(method jwt.SigningMethod, claims jwt.Claims, key any) string {
		token, err := jwt.NewWithClaims(method, claims).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	secret := []byte("s")
	reader := tokens("s", time.Minute)
	whole := sign(jwt.SigningMethodHS256, good, secret)
	if _, err := reader.Read(whole); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	parts := strings.Split(whole, ".")
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"user_id":"8","username":"v","timestamp":"1777896000","ttl":"3600"}`))
	for name, token := range map[string]string{
		"empty":           "",
		"nonsense":        "a.b.c",
		"cut":             whole[:len(whole)-2],
		"other secret":    sign(jwt.SigningMethodHS256, good, []byte("t")),
		"empty secret":    sign(jwt.SigningMethodHS256, good, []byte("")),
		"no algorithm":    sign(jwt.SigningMethodNone, good, jwt.UnsafeAllowNoneSignatureType),
		"other algorithm": sign(jwt.SigningMethodHS512, good, secret),
		"other payload":   parts[0] + "." + forged + "." + parts[2],
		"no timestamp":    sign(jwt.SigningMethodHS256, with("timestamp", nil), secret),
		"odd ttl":         sign(jwt.SigningMethodHS256, with("ttl", "1h"), secret),
		"no user":         sign(jwt.SigningMethodHS256, with("user_id", nil), secret),
		"negative user":   sign(jwt.SigningMethodHS256, with("user_id", "-1"), secret),
		"a number":        sign(jwt.SigningMethodHS256, with("user_id", 7), secret),
	} {
		if session, err := reader.Read(token); err == nil || session != (Session{}) {
			t.Errorf("%s: %+v, %v", name, session, err)
		}
	}
}
