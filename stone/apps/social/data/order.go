package data

import (
	"cmp"
	"strconv"
	"strings"
)

// NewestFirst orders a timeline. Of posts of one millisecond the one whose id comes later as a text is the newer: so
// orders Redis the members of a sorted set, and of two posts with ids from one generator that is the newer one.
func NewestFirst(a, b Entry) int { return latestFirst(a.Timestamp, a.PostID, b.Timestamp, b.PostID) }

// OldestFirst orders followers and followees, as Redis does.
func OldestFirst(a, b Edge) int { return -latestFirst(a.Timestamp, a.UserID, b.Timestamp, b.UserID) }

func latestFirst(aTime, aID, bTime, bID int64) int {
	if order := cmp.Compare(bTime, aTime); order != 0 {
		return order
	}
	return strings.Compare(strconv.FormatInt(bID, 10), strconv.FormatInt(aID, 10))
}
