package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// pagePolicy lets a page have our style sheet, pictures and films, and nothing else: no script of any kind.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// SecurePage sets the headers of a page: what it may load, and that it is for this browser only.
func SecurePage(header http.Header) {
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// Asset serves a file that is part of the program, such as a style sheet; a browser fetches it again only when it has changed.
func Asset(contentType string, content []byte) http.HandlerFunc {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", contentType)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(content) // fails only if the asker went away
	}
}

// OpenToAll lets pages of any origin call an API, and answers the question of browsers whether they may.
func OpenToAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", "*")
		if r.Method == http.MethodOptions {
			header.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
			header.Set("Access-Control-Allow-Headers", "*")
			header.Set("Access-Control-Max-Age", "86400")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
