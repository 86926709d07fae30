package hotel

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	hotelpb "loadstone.dev/stone/apps/hotel/proto"
)

// maxText bounds a parameter in bytes; keys of memcached, which hotel ids become, may have 250.
const maxText = 200

// badRequest is an error of the caller; its text is the body of a 400.
type badRequest string

func (b badRequest) Error() string { return string(b) }

func stayParams(query url.Values) (inDate, outDate string, err error) {
	inDate, outDate = query.Get("inDate"), query.Get("outDate")
	if inDate == "" || outDate == "" {
		return "", "", badRequest("Please specify inDate/outDate params")
	}
	_, err = nights(inDate, outDate)
	return inDate, outDate, err
}

// locationParams refuses what is no place on Earth (the original read it as 0).
func locationParams(query url.Values) (lat, lon float64, err error) {
	lat, err = coordinate(query.Get("lat"), 90)
	if err == nil {
		lon, err = coordinate(query.Get("lon"), 180)
	}
	return lat, lon, err
}

func coordinate(text string, limit float64) (float64, error) {
	degrees, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(degrees) <= limit) { // so written that NaN is refused
		return 0, badRequest("Please specify location params")
	}
	return degrees, nil
}

func credentialParams(query url.Values) (*hotelpb.UserRequest, error) {
	username, password := query.Get("username"), query.Get("password")
	if !isText(username) || !isText(password) {
		return nil, badRequest("Please specify username and password")
	}
	return &hotelpb.UserRequest{Username: username, Password: password}, nil
}

func textParam(query url.Values, name, complaint string) (string, error) {
	text := query.Get(name)
	if !isText(text) {
		return "", badRequest(complaint)
	}
	return text, nil
}

// hotelParam refuses spaces besides: the id becomes a key of memcached.
func hotelParam(query url.Values) (string, error) {
	id, err := textParam(query, "hotelId", "Please specify hotelId params")
	if strings.Contains(id, " ") {
		err = badRequest("Please specify hotelId params")
	}
	return id, err
}

func localeParam(query url.Values) string {
	if locale := query.Get("locale"); isText(locale) {
		return locale
	}
	return "en"
}

func roomsParam(query url.Values) (int32, error) {
	text := query.Get("number")
	if text == "" {
		return 1, nil
	}
	rooms, err := strconv.ParseInt(text, 10, 32)
	if err != nil || rooms < 1 {
		return 0, badRequest(fmt.Sprintf("Please check number: %.20q is not a number of rooms (1 or more)", text))
	}
	return int32(rooms), nil
}

// isText says whether a text is neither empty nor something that RPC and stores cannot carry.
func isText(text string) bool {
	if text == "" || len(text) > maxText || !utf8.ValidString(text) {
		return false
	}
	for _, letter := range text {
		if unicode.IsControl(letter) {
			return false
		}
	}
	return true
}
