package web

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LargestBody bounds the body of a request to an API, in bytes.
const LargestBody = 1 << 20

// Params are the parameters of a request, in their order.
type Params []Param

// Param is one parameter.
type Param struct{ Name, Value string }

// ReadParams reads the parameters of a query and of a form in the body, whatever the method. Where both have one, the
// body's counts.
func ReadParams(w http.ResponseWriter, r *http.Request) (Params, error) {
	var params Params
	if kind := r.Header.Get("Content-Type"); r.ContentLength != 0 && isForm(kind) {
		body, err := readBody(w, r)
		if err != nil {
			return nil, err
		}
		params = ParseParams(params, body)
	}
	return ParseParams(params, r.URL.RawQuery), nil
}

// isForm says whether a body is read as a form: load scripts often name no type at all.
func isForm(contentType string) bool {
	if contentType == "" || contentType == "application/x-www-form-urlencoded" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/x-www-form-urlencoded"
}

func readBody(w http.ResponseWriter, r *http.Request) (string, error) {
	var text strings.Builder
	if r.ContentLength > 0 && r.ContentLength <= LargestBody {
		text.Grow(int(r.ContentLength))
	}
	_, err := io.Copy(&text, http.MaxBytesReader(w, r.Body, LargestBody))
	if err != nil {
		return "", badBody(err)
	}
	return text.String(), nil
}

// ParseParams adds the parameters of an encoded form. It is as lenient as NGINX: what is no escape stands for itself.
func ParseParams(to Params, encoded string) Params {
	for part := range strings.SplitSeq(encoded, "&") {
		if part != "" {
			name, value, _ := strings.Cut(part, "=")
			to = append(to, Param{unescape(name), unescape(value)})
		}
	}
	return to
}

func unescape(text string) string {
	if !strings.ContainsAny(text, "%+") {
		return text
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch letter := text[i]; {
		case letter == '+':
			plain = append(plain, ' ')
		case letter == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			plain = append(plain, fromHex(text[i+1])<<4|fromHex(text[i+2]))
			i += 2
		default:
			plain = append(plain, letter)
		}
	}
	return string(plain)
}

func isHex(letter byte) bool {
	return '0' <= letter && letter <= '9' || 'a' <= letter && letter <= 'f' || 'A' <= letter && letter <= 'F'
}

func fromHex(letter byte) byte {
	switch {
	case letter >= 'a':
		return letter - 'a' + 10
	case letter >= 'A':
		return letter - 'A' + 10
	}
	return letter - '0'
}

// Get is the first value of a parameter, empty if there is none.
func (p Params) Get(name string) string {
	for i := range p {
		if p[i].Name == name {
			return p[i].Value
		}
	}
	return ""
}

// Text is a parameter of at most so many bytes of UTF-8 without NUL; it may be empty.
func (p Params) Text(name string, most int) (string, error) {
	text := p.Get(name)
	return text, CheckText(name, text, most)
}

// CheckText refuses what stores cannot keep alike: more than most bytes, NUL, what is not UTF-8.
func CheckText(name, text string, most int) error {
	switch {
	case len(text) > most:
		return Problemf(http.StatusBadRequest, "%s: %d bytes are more than %d", name, len(text), most)
	case !utf8.ValidString(text):
		return Problemf(http.StatusBadRequest, "%s: not UTF-8", name)
	case strings.Contains(text, "\x00"):
		return Problemf(http.StatusBadRequest, "%s: contains a NUL", name)
	}
	return nil
}

// ID is a parameter that is an id: a number from 0 to 2^63-1.
func (p Params) ID(name string) (int64, error) {
	text := p.Get(name)
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, Problemf(http.StatusBadRequest, "%s: %.30q is not a number from 0 to 9223372036854775807", name, text)
	}
	return id, nil
}

// Integer is a parameter from least to most.
func (p Params) Integer(name string, least, most int32) (int32, error) {
	text := p.Get(name)
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < int64(least) || number > int64(most) {
		return 0, Problemf(http.StatusBadRequest, "%s: %.30q is not a number from %d to %d", name, text, least, most)
	}
	return int32(number), nil
}
