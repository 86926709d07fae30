// Package mistake has the errors of a plan that is wrong.
package mistake

import "fmt"

// Error is a mistake in a plan: the key, and what is wrong with it.
type Error struct{ Key, Problem string }

func (e *Error) Error() string {
	if e.Key == "" {
		return e.Problem
	}
	return e.Key + ": " + e.Problem
}

// New makes an *Error of a key ("" for the plan as a whole) and a problem that is formatted.
func New(key, format string, values ...any) error {
	return &Error{key, fmt.Sprintf(format, values...)}
}
