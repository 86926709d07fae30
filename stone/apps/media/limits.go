package media

import (
	"strings"
	"unicode/utf8"
)

const (
	longestText  = 64 << 10 // bytes, of reviews, plots and descriptions of actors
	longestName  = 1 << 10  // bytes, of titles, names and ids that are texts
	greatestMark = 10       // a rating is from 0 to this
	mostRange    = 1000     // reviews of a list at once
	mostItems    = 1000     // cast of a film, pictures of it, ids in one request
)

// checkText checks a text of some length.
func checkText(name, text string) error { return checkWords(name, text, longestText) }

// checkName checks what something is called or found by.
func checkName(name, text string) error {
	if text == "" {
		return exception.Invalid("%s: is empty", name)
	}
	return checkWords(name, text, longestName)
}

// checkWords refuses also what the stores cannot keep alike.
func checkWords(name, text string, longest int) error {
	switch {
	case len(text) > longest:
		return exception.Invalid("%s: %d bytes are more than %d", name, len(text), longest)
	case !utf8.ValidString(text):
		return exception.Invalid("%s: not UTF-8", name)
	case strings.Contains(text, "\x00"):
		return exception.Invalid("%s: contains a NUL", name)
	}
	return nil
}

func checkID(name string, id int64) error {
	if id < 0 {
		return exception.Invalid("%s: id %d is negative", name, id)
	}
	return nil
}

func checkCount(name string, count int) error {
	if count > mostItems {
		return exception.Invalid("%s: %d are more than %d", name, count, mostItems)
	}
	return nil
}

// checkRating: Quirk: any number was a rating.
func checkRating(rating int32, quirks bool) error {
	if !quirks && (rating < 0 || rating > greatestMark) {
		return exception.Invalid("rating: %d is not from 0 to %d", rating, greatestMark)
	}
	return nil
}

// checkRange checks a range of reviews of a list: from start up to, not including, stop. Quirk: where that makes
// no sense the answer was empty.
func checkRange(start, stop int32, quirks bool) error {
	switch {
	case quirks:
		return nil
	case start < 0:
		return exception.Invalid("start: %d is negative", start)
	case stop < start:
		return exception.Invalid("stop: %d is less than start, %d", stop, start)
	case stop-start > mostRange:
		return exception.Invalid("stop: %d reviews after start are more than %d", stop-start, mostRange)
	}
	return nil
}

// firstOf is the first error of several checks.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
