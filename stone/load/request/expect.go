package request

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"loadstone.dev/stone/load/mistake"
)

// BodyLimit is how much of a body is kept where something looks into it.
const BodyLimit = 1 << 20

// Expect says which answers are good ones; any other is an error of its own kind, not a completed request.
type Expect struct {
	Status   []int       `json:"status"` // any below 400 if absent
	JSON     *ExpectJSON `json:"json"`
	MinBytes *int64      `json:"min_bytes"` // the fewest bytes that the body may have
	MaxBytes *int64      `json:"max_bytes"`
}

// ExpectJSON is a value in the body: a path of keys and array indexes, `a.0.b`. Without equals it must be there.
type ExpectJSON struct {
	Path   string          `json:"path"`
	Equals json.RawMessage `json:"equals"` // a text, a number, true, false or null
}

// expectError is an answer that is not what the plan expects. There are few different ones, made beforehand.
type expectError string

func (e expectError) Error() string { return string(e) }

// StatusPrefix is how the error of a bad status begins.
const StatusPrefix = "status "

// StatusError is a whole answer that says that the request failed.
type StatusError int

func (s StatusError) Error() string { return StatusPrefix + strconv.Itoa(int(s)) }

// expectation is a compiled Expect. A nil one expects any status below 400.
type expectation struct {
	statuses   []int
	unexpected map[int]error
	min, max   int64
	size       [2]error // fewer than min, more than max
	path       []string // nil: nothing of the body
	equals     *gjson.Result
	json       struct{ long, malformed, missing, twice, other error }
}

func compileExpect(e *Expect, key string) (*expectation, error) {
	if e == nil {
		return nil, nil
	}
	if e.Status == nil && e.JSON == nil && e.MinBytes == nil && e.MaxBytes == nil {
		return nil, mistake.New(key, "empty; give status, json, min_bytes or max_bytes")
	}
	c := &expectation{max: -1}
	if err := c.compileStatus(e, key); err != nil {
		return nil, err
	}
	if err := c.compileSize(e, key); err != nil {
		return nil, err
	}
	return c, c.compileJSON(e, key)
}

func (c *expectation) compileStatus(e *Expect, key string) error {
	if e.Status != nil && len(e.Status) == 0 {
		return mistake.New(key+".status", "empty; give at least one")
	}
	var names []string
	for i, status := range e.Status {
		if status < 200 || status > 599 {
			return mistake.New(fmt.Sprintf("%s.status[%d]", key, i), "%d is not a status of an answer; give 200 to 599", status)
		}
		names = append(names, strconv.Itoa(status))
	}
	if c.statuses = e.Status; c.statuses != nil {
		c.unexpected = map[int]error{}
		for status := 100; status < 1000; status++ {
			c.unexpected[status] = expectError(fmt.Sprintf("expected status %s, got %d", strings.Join(names, " or "), status))
		}
	}
	return nil
}

func (c *expectation) compileSize(e *Expect, key string) error {
	if e.MinBytes != nil {
		c.min = *e.MinBytes
	}
	if e.MaxBytes != nil {
		c.max = *e.MaxBytes
	}
	switch {
	case c.min < 0:
		return mistake.New(key+".min_bytes", "%d is negative", c.min)
	case e.MaxBytes != nil && c.max < c.min:
		return mistake.New(key+".max_bytes", "%d is less than min_bytes (%d)", c.max, c.min)
	}
	c.size = [2]error{
		expectError(fmt.Sprintf("expected at least %d bytes, got fewer", c.min)),
		expectError(fmt.Sprintf("expected at most %d bytes, got more", c.max)),
	}
	return nil
}

func (c *expectation) compileJSON(e *Expect, key string) (err error) {
	if e.JSON == nil {
		return nil
	}
	if c.path, err = jsonPath(e.JSON.Path, key+".json.path"); err != nil {
		return err
	}
	what := "json " + e.JSON.Path
	c.json.long = expectError("body longer than 1 MiB, cannot check " + what)
	if e.JSON.Equals != nil {
		equals := gjson.ParseBytes(e.JSON.Equals)
		if equals.Type == gjson.JSON {
			return mistake.New(key+".json.equals", "%s: give a text, a number, true, false or null", e.JSON.Equals)
		}
		c.equals = &equals
		what += " = " + equals.String()
		if equals.Type == gjson.Null {
			what += "null"
		}
	}
	c.json.malformed = expectError("expected " + what + ", body is not JSON")
	c.json.missing = expectError("expected " + what + ", it is not there")
	c.json.twice = expectError("expected " + what + ", its key is there twice")
	c.json.other = expectError("expected " + what)
	return nil
}

// needsBody tells whether check looks at the body: keep its first bodyLimit bytes.
func (e *expectation) needsBody() bool { return e != nil && e.path != nil }

// Check returns what is wrong with an answer: a value that compares equal to that of other answers with the
// same mistake. size is the whole body's length, of which body is the first bodyLimit bytes if needsBody.
func (e *expectation) Check(status int, body []byte, size int64) error {
	switch {
	case (e == nil || e.statuses == nil) && status >= 400:
		return StatusError(status)
	case e == nil:
		return nil
	case e.statuses != nil && !e.hasStatus(status):
		return e.unexpected[status]
	case size < e.min:
		return e.size[0]
	case e.max >= 0 && size > e.max:
		return e.size[1]
	case e.path == nil:
		return nil
	case size > int64(len(body)):
		return e.json.long
	}
	return e.checkJSON(body)
}

func (e *expectation) hasStatus(status int) bool {
	for _, good := range e.statuses {
		if status == good {
			return true
		}
	}
	return false
}

func (e *expectation) checkJSON(body []byte) error {
	if !isJSON(body) {
		return e.json.malformed
	}
	value, count := lookUp(body, e.path)
	switch {
	case count == 0:
		return e.json.missing
	case count > 1:
		return e.json.twice
	case e.equals != nil && !sameScalar(*e.equals, value):
		return e.json.other
	}
	return nil
}
