package transport

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
)

// readBody reads a body to its end. It keeps the first `limit` bytes and counts all: no answer takes more memory.
func readBody(from io.Reader, limit int64) (kept []byte, size int64, err error) {
	if limit > 0 {
		var first bytes.Buffer
		if size, err = first.ReadFrom(io.LimitReader(from, limit)); err != nil || size < limit {
			return first.Bytes(), size, err
		}
		kept = first.Bytes()
	}
	rest, err := io.Copy(io.Discard, from)
	return kept, size + rest, err
}

// headerLines writes a header as lines, in the order of their names.
func headerLines(header http.Header) []byte {
	var lines []byte
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			lines = append(append(append(append(lines, name...), ": "...), value...), "\r\n"...)
		}
	}
	return lines
}
