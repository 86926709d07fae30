package transport

import (
	"io"
	"net/http"
	"slices"
)

// readBody reads a body to its end; length is its declared length, negative if none is declared. It keeps the first
// `limit` bytes and counts all: no answer takes more memory.
func readBody(from io.Reader, length, limit int64) (kept []byte, size int64, err error) {
	if length >= 0 {
		limit = min(limit, length)
	}
	for int64(len(kept)) < limit {
		if len(kept) == cap(kept) {
			kept = slices.Grow(kept, int(min(limit-int64(len(kept)), max(512, int64(len(kept))))))
		}
		n, err := from.Read(kept[len(kept):min(int64(cap(kept)), limit)])
		kept = kept[:len(kept)+n]
		if err == io.EOF {
			return kept, int64(len(kept)), nil
		}
		if err != nil {
			return kept, int64(len(kept)), err
		}
	}
	rest, err := io.Copy(io.Discard, from)
	return kept, int64(len(kept)) + rest, err
}

// headerLines writes a header as lines, in the order of their names.
func headerLines(header http.Header) []byte {
	names, size := make([]string, 0, 16), 0
	for name, values := range header {
		names = append(names, name)
		for _, value := range values {
			size += len(name) + len(": ") + len(value) + len("\r\n")
		}
	}
	slices.Sort(names)
	lines := make([]byte, 0, size)
	for _, name := range names {
		for _, value := range header[name] {
			lines = append(append(append(append(lines, name...), ": "...), value...), "\r\n"...)
		}
	}
	return lines
}
