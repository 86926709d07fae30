package request

import (
	"bytes"
	"errors"
	"math"
	"strings"
)

// What can be wrong with an answer.
var (
	ErrNotHTTP     = errors.New("malformed answer: not an HTTP/1 status line")
	errHeader      = errors.New("malformed answer: a header line without a colon")
	ErrHeadTooLong = errors.New("malformed answer: its head is longer than 64 KiB")
	ErrLength      = errors.New("malformed answer: bad Content-Length")
	ErrChunk       = errors.New("malformed answer: bad chunk")
	errUpgrade     = errors.New("malformed answer: 101 Switching Protocols, but no upgrade was requested")
	ErrCut         = errors.New("connection closed before the whole answer")
	ErrNoAnswer    = errors.New("connection closed without an answer")
)

type parserState uint8

const (
	atStatusLine parserState = iota
	atHeader
	atBody // `left` bytes to come
	atChunkSize
	atChunk // `left` bytes to come, then a line end
	atChunkEnd
	atTrailer
	untilClose
	whole
)

const (
	maxHead    = 64 << 10
	ExampleMax = 200
)

// Response parses one HTTP/1.x answer (RFC 9112) incrementally, from pieces cut anywhere. Of the body it keeps no more
// than the plan reads, and the first bytes of an error's as an example.
type Response struct {
	state     parserState
	headOnly  bool // the request was HEAD
	KeepAlive bool // the connection may carry another request afterwards
	closes    bool // a Connection header says that it will not, whatever others say
	foldable  bool // the header line before may go on in the next one
	chunked   bool
	encoded   bool // there is a Transfer-Encoding
	old       bool // HTTP/1.0
	begun     bool // at least one byte of the answer is here
	Status    int
	length    int64 // Content-Length, -1 if absent
	left      int64
	taken     int    // bytes of head, or of trailer, so far
	partial   []byte // the beginning of a line whose end is not here yet
	Example   []byte
	Last      *LastHead
	Size      int64 // length of the body so far
	Most      int64 // how much of the body is kept
	KeepHead  bool
	Body      []byte // its first bytes
	Head      []byte // the header lines, each with its line end
}

// LastHead remembers the head of an answer and what it meant. Answers of one server mostly begin with the very
// bytes of the one before, and comparing is several times faster than parsing.
type LastHead struct {
	text    []byte
	meaning Response
}

const lastHeadMost = 1024

// recall takes the head in one piece if it is the remembered one.
func (r *Response) recall(p []byte) (used int) {
	if r.Last == nil || len(r.Last.text) == 0 || r.KeepHead || !bytes.HasPrefix(p, r.Last.text) || r.headOnly != r.Last.meaning.headOnly {
		return 0
	}
	m := &r.Last.meaning
	r.state, r.KeepAlive, r.chunked, r.encoded = m.state, m.KeepAlive, m.chunked, m.encoded
	r.Status, r.length, r.left = m.Status, m.length, m.left
	return len(r.Last.text)
}

// remember notes a head that has just been parsed from one piece.
func (r *Response) remember(head []byte) {
	if r.Last != nil && r.Status >= 200 && len(head) <= lastHeadMost {
		r.Last.text = append(r.Last.text[:0], head...)
		r.Last.meaning = *r
	}
}

// Reset prepares for the next answer; headOnly says that the request was HEAD. Nothing is kept unless requested.
func (r *Response) Reset(headOnly bool) {
	*r = Response{headOnly: headOnly, length: -1, partial: r.partial[:0], Example: r.Example[:0], Last: r.Last,
		Body: r.Body[:0], Head: r.Head[:0]}
}

// Feed takes the next bytes; it returns how many belong to this answer and whether it is whole now.
// After an error the connection is unusable.
func (r *Response) Feed(p []byte) (used int, done bool, err error) {
	fresh := !r.begun
	if r.begun = r.begun || len(p) > 0; fresh {
		used = r.recall(p)
	}
	for used < len(p) && r.state != whole {
		rest := p[used:]
		switch r.state {
		case atBody, atChunk:
			n := min(int64(len(rest)), r.left)
			r.keep(rest[:n])
			used += int(n)
			if r.left -= n; r.left > 0 {
				break
			}
			if r.state == atBody {
				r.state = whole
			} else {
				r.state = atChunkEnd
			}
		case untilClose:
			r.keep(rest)
			used = len(p)
		default:
			end := bytes.IndexByte(rest, '\n')
			n := end + 1
			if end < 0 {
				n = len(rest)
			}
			used += n
			if r.taken += n; r.taken > maxHead {
				return used, false, ErrHeadTooLong
			}
			if end < 0 {
				r.partial = append(r.partial, rest...)
				return used, false, nil
			}
			line := rest[:end]
			if len(r.partial) > 0 {
				r.partial = append(r.partial, line...)
				line = r.partial
			}
			if last := len(line) - 1; last >= 0 && line[last] == '\r' {
				line = line[:last]
			} else if r.state > atHeader { // a lone line feed is a line end in a head alone
				return used, false, ErrChunk
			}
			inHead := r.state <= atHeader
			err := r.line(line)
			r.partial = r.partial[:0]
			if err != nil {
				return used, false, err
			}
			if fresh && inHead && r.state > atHeader {
				r.remember(p[:used])
			}
		}
	}
	return used, r.state == whole, nil
}

// End says what the peer's closing of the connection means: the end of an answer without a length, or an error.
func (r *Response) End() error {
	switch {
	case r.state == untilClose:
		return nil
	case !r.begun:
		return ErrNoAnswer
	}
	return ErrCut
}

func (r *Response) line(line []byte) error {
	switch r.state {
	case atStatusLine:
		return r.statusLine(line)
	case atHeader:
		if r.KeepHead && len(line) > 0 {
			r.Head = append(append(r.Head, line...), "\r\n"...)
		}
		if len(line) > 0 {
			return r.header(line)
		}
		r.taken = 0
		return r.endOfHead()
	case atChunkSize:
		return r.chunkSize(line)
	case atChunkEnd:
		if len(line) > 0 {
			return ErrChunk
		}
		r.state = atChunkSize
	case atTrailer:
		if len(line) == 0 {
			r.state = whole
		}
	}
	return nil
}

// statusLine reads "HTTP/1.1 200 OK".
func (r *Response) statusLine(line []byte) error {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return ErrNotHTTP
	}
	r.Status = 0
	for _, digit := range line[9:12] {
		if digit < '0' || digit > '9' {
			return ErrNotHTTP
		}
		r.Status = r.Status*10 + int(digit-'0')
	}
	if r.Status < 100 {
		return ErrNotHTTP
	}
	r.old = line[7] == '0'
	r.KeepAlive = !r.old // HTTP/1.0 closes unless it says otherwise
	r.state = atHeader
	return nil
}

func (r *Response) header(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' { // folded: part of the value before, which must be none that is read here
		if !r.foldable {
			return errHeader
		}
		return nil
	}
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !isName(line[:colon]) {
		return errHeader
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], blanks)
	r.foldable = false
	switch {
	case foldEqual(name, "content-length"):
		length, ok := decimal(value)
		if !ok || r.length >= 0 && r.length != length {
			return ErrLength
		}
		r.length = length
	case foldEqual(name, "transfer-encoding"):
		last := value
		if comma := bytes.LastIndexByte(value, ','); comma >= 0 {
			last = bytes.Trim(value[comma+1:], blanks)
		}
		r.encoded, r.chunked = true, foldEqual(last, "chunked")
	case foldEqual(name, "connection"):
		r.connection(value)
	default:
		r.foldable = true
	}
	return nil
}

const blanks = " \t\r"

// connection reads the list of a Connection header.
func (r *Response) connection(tokens []byte) {
	for more := true; more; {
		var token []byte
		token, tokens, more = bytes.Cut(tokens, []byte(","))
		switch token = bytes.Trim(token, blanks); {
		case foldEqual(token, "close"):
			r.closes = true
		case foldEqual(token, "keep-alive"):
			r.KeepAlive = true
		}
	}
}

// isName says whether all bytes may be part of a name: of a token (RFC 9110, 5.6.2), or blanks, as some servers write
// them before the colon. A name with blanks is none that is read here.
func isName(name []byte) bool {
	for _, b := range name {
		if !nameBytes[b] {
			return false
		}
	}
	return true
}

var nameBytes = func() (is [256]bool) {
	for b := range is {
		is[b] = b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || strings.IndexByte(" !#$%&'*+-.^_`|~", byte(b)) >= 0
	}
	return is
}()

// endOfHead decides how the body is delimited (RFC 9112, 6.3).
func (r *Response) endOfHead() error {
	r.KeepAlive = r.KeepAlive && !r.closes && !(r.old && r.encoded) // HTTP/1.0 knows no encoding: RFC 9112, 6.1
	switch {
	case r.Status == 101:
		return errUpgrade
	case r.Status < 200: // interim: the real answer follows
		most, keepHead := r.Most, r.KeepHead
		r.Reset(r.headOnly)
		r.begun, r.Most, r.KeepHead = true, most, keepHead
	case r.headOnly || r.Status == 204 || r.Status == 304:
		r.state = whole
	case r.encoded && r.chunked:
		r.state = atChunkSize
		if r.length >= 0 { // both: the length is void, and what sent it is not to be trusted further
			r.KeepAlive = false
		}
	case !r.encoded && r.length == 0:
		r.state = whole
	case !r.encoded && r.length > 0:
		r.state, r.left = atBody, r.length
	default:
		r.state, r.KeepAlive = untilClose, false
	}
	return nil
}

func (r *Response) chunkSize(line []byte) error {
	if extension := bytes.IndexByte(line, ';'); extension >= 0 {
		line = line[:extension]
	}
	line = bytes.TrimRight(line, " \t")
	if len(line) == 0 || len(line) > 15 {
		return ErrChunk
	}
	r.left, r.taken = 0, 0
	for _, b := range line {
		digit := int64(0)
		switch {
		case '0' <= b && b <= '9':
			digit = int64(b - '0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			digit = int64(b|0x20-'a') + 10
		default:
			return ErrChunk
		}
		r.left = r.left<<4 | digit
	}
	if r.state = atChunk; r.left == 0 {
		r.state = atTrailer
	}
	return nil
}

// keep counts the body, and remembers the beginning that is wanted, and that of an error's.
func (r *Response) keep(body []byte) {
	r.Size += int64(len(body))
	if room := r.Most - int64(len(r.Body)); room > 0 {
		r.Body = append(r.Body, body[:min(room, int64(len(body)))]...)
	}
	if room := ExampleMax - len(r.Example); r.Status >= 400 && room > 0 {
		r.Example = append(r.Example, body[:min(room, len(body))]...)
	}
}

// foldEqual compares with a lower-case ASCII word, ignoring case.
func foldEqual(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// decimal reads digits; no value is above the largest int64.
func decimal(b []byte) (value int64, ok bool) {
	for _, digit := range b {
		if digit < '0' || digit > '9' || value > (math.MaxInt64-int64(digit-'0'))/10 {
			return 0, false
		}
		value = value*10 + int64(digit-'0')
	}
	return value, len(b) > 0
}
