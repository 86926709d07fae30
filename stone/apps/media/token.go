package media

import (
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// tokenLives is how long a token is good, as published.
const tokenLives = time.Minute

// tokens signs who logged in: as JSON web tokens (HS256) with the published payload.
type tokens struct {
	secret string
	now    func() time.Time // the clock of tests; nil: the real one
}

// tokenPayload is texts all through. Timestamp and TTL are milliseconds.
type tokenPayload struct {
	UserID    string `json:"user_id"`
	Timestamp string `json:"timestamp"`
	TTL       string `json:"TTL"`
}

func (t tokens) sign(userID int64) string {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, tokenPayload{
		UserID:    strconv.FormatInt(userID, 10),
		Timestamp: strconv.FormatInt(t.clock()().UnixMilli(), 10),
		TTL:       strconv.FormatInt(tokenLives.Milliseconds(), 10),
	})
	signed, err := token.SignedString([]byte(t.secret))
	if err != nil { // texts become JSON and HMAC takes any key
		panic(err)
	}
	return signed
}

// read returns whose token it is, or why it is none: not signed with the secret or by another algorithm (such as "none"),
// expired, or not of this form.
func (t tokens) read(token string) (userID int64, err error) {
	var payload tokenPayload
	_, err = jwt.ParseWithClaims(token, &payload, func(*jwt.Token) (any, error) { return []byte(t.secret), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(t.clock()))
	if err != nil {
		return 0, fmt.Errorf("token: %w", err)
	}
	userID, err = strconv.ParseInt(payload.UserID, 10, 64)
	if err != nil || userID < 0 {
		return 0, fmt.Errorf("token: user_id %q is no id", payload.UserID)
	}
	return userID, nil
}

func (t tokens) clock() func() time.Time {
	if t.now == nil {
		return time.Now
	}
	return t.now
}

// GetExpirationTime is called by the library, as are the rest.
func (p tokenPayload) GetExpirationTime() (*jwt.NumericDate, error) {
	issued, err := strconv.ParseInt(p.Timestamp, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("timestamp %q is no number", p.Timestamp)
	}
	ttl, err := strconv.ParseInt(p.TTL, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("TTL %q is no number", p.TTL)
	}
	return jwt.NewNumericDate(time.UnixMilli(issued + ttl)), nil
}

func (tokenPayload) GetIssuedAt() (*jwt.NumericDate, error)  { return nil, nil }
func (tokenPayload) GetNotBefore() (*jwt.NumericDate, error) { return nil, nil }
func (tokenPayload) GetIssuer() (string, error)              { return "", nil }
func (tokenPayload) GetSubject() (string, error)             { return "", nil }
func (tokenPayload) GetAudience() (jwt.ClaimStrings, error)  { return nil, nil }
