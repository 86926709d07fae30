package httpserver

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// largestHeld is how much of an answer of a length that its handler has set is held back before it goes out.
	largestHeld = 64 << 10
	// largestKept is the largest buffer that is kept for other answers.
	largestKept = 256 << 10
)

// response holds an answer until it is whole, to send it in one write. A large one whose handler has set its length goes
// out piece by piece.
type response struct {
	connection net.Conn
	header     http.Header
	status     int
	head, body bytes.Buffer // what has not gone out
	length     int64        // bytes of the body, if the handler has set them; else -1
	written    int64        // bytes of the body that went out
	begun      bool         // the head has gone out
	err        error        // the error of the connection
}

var responses = sync.Pool{New: func() any { return &response{header: make(http.Header, 8)} }}

func newResponse(connection net.Conn) *response {
	r := responses.Get().(*response)
	r.connection, r.length = connection, -1
	return r
}

func (r *response) free() {
	if r.body.Cap() > largestKept {
		return
	}
	clear(r.header)
	r.head.Reset()
	r.body.Reset()
	*r = response{header: r.header, head: r.head, body: r.body}
	responses.Put(r)
}

func (r *response) Header() http.Header { return r.header }

// WriteHeader fixes the status; those below 200, which another follows, are not sent.
func (r *response) WriteHeader(status int) {
	if r.status != 0 || status < http.StatusOK {
		return
	}
	r.status = status
	if length, err := strconv.ParseInt(r.header.Get("Content-Length"), 10, 64); err == nil && length >= 0 {
		r.length = length
	}
}

// bodiless answers have no body, by their status.
func (r *response) bodiless() bool {
	return r.status == http.StatusNoContent || r.status == http.StatusNotModified
}

// Write adds to the body.
func (r *response) Write(body []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.bodiless() {
		return 0, http.ErrBodyNotAllowed
	}
	if r.written += int64(len(body)); r.length >= 0 && r.written > r.length {
		return 0, http.ErrContentLength
	}
	r.body.Write(body)
	if r.length >= 0 && r.body.Len() > largestHeld {
		r.send()
	}
	return len(body), r.err
}

// send sends what there is, the head before the first of the body.
func (r *response) send() {
	if !r.begun {
		r.begun = true
		r.writeHead()
	}
	if r.err == nil {
		pieces := net.Buffers{r.head.Bytes(), r.body.Bytes()}
		_, r.err = pieces.WriteTo(r.connection)
	}
	r.head.Reset()
	r.body.Reset()
}

func (r *response) writeHead() {
	if _, is := r.header["Content-Type"]; !is && r.body.Len() > 0 && r.header.Get("Content-Encoding") == "" {
		r.header.Set("Content-Type", http.DetectContentType(r.body.Bytes()))
	}
	if r.header.Get("Date") == "" {
		r.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	switch {
	case r.bodiless():
		r.header.Del("Content-Length")
	case r.length < 0: // then the body is whole
		r.header.Set("Content-Length", strconv.FormatInt(r.written, 10))
	}
	text := http.StatusText(r.status)
	if text == "" {
		text = "status code " + strconv.Itoa(r.status)
	}
	r.head.WriteString("HTTP/1.1 " + strconv.Itoa(r.status) + " " + text + "\r\n")
	_ = r.header.Write(&r.head) // into memory
	r.head.WriteString("\r\n")
}

// finish sends what is left. It says whether the connection can carry another answer.
func (r *response) finish() bool {
	r.WriteHeader(http.StatusOK)
	if !r.begun || r.body.Len() > 0 {
		r.send()
	}
	whole := r.length < 0 || r.written == r.length || r.bodiless()
	return r.err == nil && whole && !strings.EqualFold(r.header.Get("Connection"), "close")
}

// drained reads what a handler has left of a request's body, which has arrived whole.
func drained(request *http.Request) bool {
	_, err := io.Copy(io.Discard, request.Body)
	return err == nil || errors.Is(err, http.ErrBodyReadAfterClose)
}
