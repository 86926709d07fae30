package accounts

import (
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// lifetime is how long a token is good, as published.
const lifetime = time.Hour

// Session is who is logged in.
type Session struct {
	UserID   int64
	Username string
}

// Tokens signs sessions with a secret: as JSON web tokens (HS256) with the payload that the published applications have.
type Tokens struct {
	Secret string
	now    func() time.Time // the clock of tests; nil: the real one
}

// payload is texts all through. Timestamp and TTL are seconds.
type payload struct {
	UserID    string `json:"user_id"`
	Username  string `json:"username"`
	Timestamp string `json:"timestamp"`
	TTL       string `json:"ttl"`
}

// Sign makes a token that is good for an hour.
func (t Tokens) Sign(session Session) string {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, payload{
		UserID: strconv.FormatInt(session.UserID, 10), Username: session.Username,
		Timestamp: strconv.FormatInt(t.clock()().Unix(), 10), TTL: strconv.Itoa(int(lifetime.Seconds())),
	})
	signed, err := token.SignedString([]byte(t.Secret))
	if err != nil { // texts become JSON and HMAC takes any key
		panic(err)
	}
	return signed
}

// Read returns the session of a token, or why it is none: not signed with the secret or by another algorithm (such as
// "none"), expired, or not of this form.
func (t Tokens) Read(token string) (Session, error) {
	var claims payload
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return []byte(t.Secret), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(t.clock()))
	if err != nil {
		return Session{}, fmt.Errorf("token: %w", err)
	}
	id, err := strconv.ParseInt(claims.UserID, 10, 64)
	if err != nil || id < 0 {
		return Session{}, fmt.Errorf("token: user_id %q is no id", claims.UserID)
	}
	return Session{UserID: id, Username: claims.Username}, nil
}

func (t Tokens) clock() func() time.Time {
	if t.now == nil {
		return time.Now
	}
	return t.now
}

// GetExpirationTime is called by the library, as are the rest.
func (p payload) GetExpirationTime() (*jwt.NumericDate, error) {
	issued, err := strconv.ParseInt(p.Timestamp, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("timestamp %q is no number", p.Timestamp)
	}
	ttl, err := strconv.ParseInt(p.TTL, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("ttl %q is no number", p.TTL)
	}
	return jwt.NewNumericDate(time.Unix(issued+ttl, 0)), nil
}

func (payload) GetIssuedAt() (*jwt.NumericDate, error)  { return nil, nil }
func (payload) GetNotBefore() (*jwt.NumericDate, error) { return nil, nil }
func (payload) GetIssuer() (string, error)              { return "", nil }
func (payload) GetSubject() (string, error)             { return "", nil }
func (payload) GetAudience() (jwt.ClaimStrings, error)  { return nil, nil }
