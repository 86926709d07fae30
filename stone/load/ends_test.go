package load

import (
	"testing"
)

// An answer that ends with its connection is whole: the next request opens the connection again, without a rest.
func TestAnswersThatEndWithTheirConnection(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"HTTP/1.0 200 OK\r\n\r\nok", "HTTP/1.1 200 OK\r\n\r\nok", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
	} {
		s := step(t, serve(t, raw(text, false)).plan(t, map[string]any{"connections": 1}))
		for n := range int64(3) {
			c := s.send()
			s.settle()
			if good, kinds := s.outcomes(); good != n+1 || len(kinds) > 0 || len(s.pool.resting) > 0 || c.rest > 0 {
				t.Fatalf("%q: %d good, %v, %d connections rest", text, good, kinds, len(s.pool.resting))
			}
		}
	}
}
