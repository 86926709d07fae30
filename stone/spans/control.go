package spans

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// UsualQuiet is longer than a span of our services waits to be sent (STONE_TRACES_INTERVAL).
const UsualQuiet = 2600 * time.Millisecond

const mostOrderBytes = 64 << 10

// order is one line from the process that started the receiver.
type order struct {
	Verb   string  `json:"verb"`
	File   string  `json:"file"`
	Since  int64   `json:"since_ns"`
	Quiet  float64 `json:"quiet_s"`
	Within float64 `json:"within_s"`
}

// reply is the line that follows an order: OK, or an error of a kind ("input", "conflict" or "failed").
type reply struct {
	OK    any    `json:"ok,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"`
}

// Control carries out orders, one JSON object a line, and writes one line of JSON for each, until the orders end:
//
//	{"verb": "begin", "file": "/abs/spans.parquet", "since_ns": 0}  begins a trial
//	{"verb": "end", "quiet_s": 2.6, "within_s": 10}                 ends it: Counts
//	{"verb": "counts"}                                              Counts so far
//
// Orders come over a pipe, not over a port: they name files that the receiver writes with its own rights.
func Control(orders io.Reader, answers io.Writer, of *Recorder) error {
	lines := bufio.NewScanner(orders)
	lines.Buffer(nil, mostOrderBytes)
	to := json.NewEncoder(answers)
	for lines.Scan() {
		result, err := carryOut(lines.Bytes(), of)
		line := reply{OK: result}
		if err != nil {
			line = reply{Kind: kindOf(err), Error: err.Error()}
		}
		if err := to.Encode(line); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: orders: %w", ErrBad, err)
	}
	return nil
}

func carryOut(line []byte, of *Recorder) (any, error) {
	wanted := order{Quiet: UsualQuiet.Seconds(), Within: 10}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		return nil, fmt.Errorf("%w: order %.200q: %w", ErrBad, line, err)
	}
	if !(wanted.Quiet >= 0 && wanted.Within >= 0) {
		return nil, fmt.Errorf("%w: quiet_s %v, within_s %v: give seconds, 0 or more", ErrBad, wanted.Quiet, wanted.Within)
	}
	switch wanted.Verb {
	case "begin":
		return map[string]string{"file": wanted.File}, of.Begin(wanted.File, wanted.Since)
	case "end":
		return of.End(seconds(wanted.Quiet), seconds(wanted.Within))
	case "counts":
		return of.Counts(), nil
	}
	return nil, fmt.Errorf("%w: unknown verb %.40q: give begin, end or counts", ErrBad, wanted.Verb)
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, math.MaxInt64/2/float64(time.Second)) * float64(time.Second))
}

func kindOf(err error) string {
	switch {
	case errors.Is(err, ErrBad):
		return "input"
	case errors.Is(err, ErrConflict):
		return "conflict"
	}
	return "failed"
}
