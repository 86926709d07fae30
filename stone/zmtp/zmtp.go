// Package zmtp speaks ZMTP 3.0 and 3.1, the protocol of ZeroMQ's sockets over TCP, as far as request and reply need it: the
// NULL mechanism, REQ as a client (client.go), REP and ROUTER as a server (server.go).
//
// Messages are bounded: of one that is larger than a connection's limit nothing is kept, and its peer can be answered. Whatever
// else does not keep to the protocol ends the connection, with an error that says what it was.
package zmtp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Message is the frames of a message, in order.
type Message [][]byte

// Kind is the type of a socket.
type Kind string

// Kinds of sockets.
const (
	Req    Kind = "REQ"
	Rep    Kind = "REP"
	Router Kind = "ROUTER"
	dealer Kind = "DEALER"
)

// peers are the kinds that a socket of each kind talks to.
var peers = map[Kind][]Kind{Req: {Rep, Router}, Rep: {Req, dealer}, Router: {Req, dealer, Router}}

// Error is how a peer does not keep to the protocol. There are few of them, so that they can be counted.
type Error string

func (e Error) Error() string { return "zmtp: " + string(e) }

// Errors of peers.
const (
	notZMTP    Error = "the peer does not greet as ZeroMQ does"
	oldVersion Error = "the peer speaks a version before 3.0"
	mechanism  Error = "the peer wants a security mechanism; only NULL is spoken"
	notReady   Error = "the peer's first frame is not READY"
	badCommand Error = "malformed command"
	badFlags   Error = "malformed frame: unknown flags"
	wrongKind  Error = "the peer's socket is of a type that does not go with this one"
	refused    Error = "the peer has refused the connection"
	manyFrames Error = "a message of too many frames"
	noEnvelope Error = "malformed message: no empty frame before its content"

	// TooLarge is of a message that exceeds the limit. It has been read to its end: the connection can go on.
	TooLarge Error = "message too large"
	// FarTooLarge is of one that is not worth reading to its end.
	FarTooLarge Error = "message far too large"
)

const (
	flagMore, flagLong, flagCommand = 1, 2, 4

	greetingLength = 64
	mostFrames     = 64
	mostSkipped    = 64 << 20 // bytes of a message beyond the limit that are read to answer its sender
	longestCommand = 1 << 10
	longestContext = 16 // longest context of a PING
)

// Conn is a connection after the handshake. One goroutine may read and one write at a time.
type Conn struct {
	net   net.Conn
	read  *bufio.Reader
	limit int // bytes of a message
	out   []byte
}

// Open makes the handshake, as a socket of this kind; messages larger than limit bytes are not accepted. If it fails the
// connection is the caller's to close; so are deadlines.
func Open(conn net.Conn, kind Kind, limit int) (*Conn, error) {
	c := &Conn{net: conn, read: bufio.NewReader(conn), limit: limit}
	if err := c.handshake(kind); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Conn) handshake(kind Kind) error {
	own := make([]byte, greetingLength)
	own[0], own[9], own[10], own[11] = 0xff, 0x7f, 3, 1
	copy(own[12:], "NULL")
	if _, err := c.net.Write(own); err != nil {
		return err
	}
	if err := c.greeted(); err != nil {
		return err
	}
	ready := append([]byte{5}, "READY"...)
	ready = property(ready, "Socket-Type", string(kind))
	if kind != Rep {
		ready = property(ready, "Identity", "")
	}
	if err := c.command(ready); err != nil {
		return err
	}
	name, body, err := c.nextCommand()
	switch {
	case err != nil:
		return err
	case name == "ERROR":
		return refused
	case name != "READY":
		return notReady
	}
	theirs, err := socketType(body)
	if err != nil {
		return err
	}
	for _, fits := range peers[kind] {
		if theirs == fits {
			return nil
		}
	}
	return wrongKind
}

// greeted reads the peer's greeting, which says what is wrong as soon as that is known: a peer that is not ZeroMQ may wait for
// an answer before it sends as many bytes.
func (c *Conn) greeted() error {
	head := make([]byte, 11)
	if _, err := io.ReadFull(c.read, head[:1]); err != nil {
		return err
	}
	if head[0] != 0xff {
		return notZMTP
	}
	if _, err := io.ReadFull(c.read, head[1:]); err != nil {
		return unexpected(err)
	}
	switch {
	case head[9]&1 == 0:
		return notZMTP
	case head[10] < 3:
		return oldVersion
	}
	rest := make([]byte, greetingLength-len(head))
	if _, err := io.ReadFull(c.read, rest); err != nil {
		return unexpected(err)
	}
	if string(rest[1:6]) != "NULL\x00" {
		return mechanism
	}
	return nil
}

func property(to []byte, name, value string) []byte {
	to = append(append(to, byte(len(name))), name...)
	to = binary.BigEndian.AppendUint32(to, uint32(len(value)))
	return append(to, value...)
}

// socketType is a property of READY.
func socketType(body []byte) (kind Kind, err error) {
	for len(body) > 0 {
		length := int(body[0])
		if len(body) < 1+length+4 {
			return "", badCommand
		}
		name := string(body[1 : 1+length])
		body = body[1+length:]
		size := binary.BigEndian.Uint32(body)
		if body = body[4:]; uint64(size) > uint64(len(body)) {
			return "", badCommand
		}
		if name == "Socket-Type" {
			kind = Kind(body[:size])
		}
		body = body[size:]
	}
	return kind, nil
}

// Read returns the next message and answers the peer's pings on the way. io.EOF is an end between messages.
func (c *Conn) Read() (Message, error) {
	var message Message
	left, skipped := c.limit, 0
	for {
		flags, size, err := c.header(len(message) == 0)
		if err != nil {
			return nil, err
		}
		if flags&flagCommand != 0 {
			if err := c.obey(size); err != nil {
				return nil, err
			}
			continue
		}
		switch {
		case len(message) == mostFrames:
			return nil, manyFrames
		case size > uint64(max(mostSkipped-skipped, 0)):
			return nil, FarTooLarge
		case skipped > 0 || size > uint64(left):
			if _, err := c.read.Discard(int(size)); err != nil {
				return nil, unexpected(err)
			}
			skipped += int(size) + 1
			message = append(message, nil)
		default:
			frame := make([]byte, size)
			if _, err := io.ReadFull(c.read, frame); err != nil {
				return nil, unexpected(err)
			}
			left -= int(size)
			message = append(message, frame)
		}
		if flags&flagMore != 0 {
			continue
		}
		if skipped > 0 {
			return message, TooLarge
		}
		return message, nil
	}
}

// header reads what stands before a frame or a command.
func (c *Conn) header(first bool) (flags byte, size uint64, err error) {
	if flags, err = c.read.ReadByte(); err != nil {
		if !first {
			err = unexpected(err)
		}
		return 0, 0, err
	}
	if flags&^(flagMore|flagLong|flagCommand) != 0 || flags&flagCommand != 0 && flags&flagMore != 0 {
		return 0, 0, badFlags
	}
	var number [8]byte
	at := 7
	if flags&flagLong != 0 {
		at = 0
	}
	if _, err := io.ReadFull(c.read, number[at:]); err != nil {
		return 0, 0, unexpected(err)
	}
	return flags, binary.BigEndian.Uint64(number[:]), nil
}

// obey reads a command and answers it, if it is a ping. Commands that are not known are skipped, as the protocol says.
func (c *Conn) obey(size uint64) error {
	name, body, err := c.readCommand(size)
	switch {
	case err != nil:
		return err
	case name == "ERROR":
		return refused
	case name == "PING" && (len(body) < 2 || len(body) > 2+longestContext):
		return badCommand
	case name == "PING":
		return c.command(append([]byte("\x04PONG"), body[2:]...))
	}
	return nil
}

func (c *Conn) nextCommand() (string, []byte, error) {
	flags, size, err := c.header(false)
	if err == nil && flags&flagCommand == 0 {
		err = notReady
	}
	if err != nil {
		return "", nil, err
	}
	return c.readCommand(size)
}

func (c *Conn) readCommand(size uint64) (name string, body []byte, err error) {
	if size == 0 || size > longestCommand {
		return "", nil, badCommand
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(c.read, body); err != nil {
		return "", nil, unexpected(err)
	}
	if length := int(body[0]); 1+length <= len(body) {
		return string(body[1 : 1+length]), body[1+length:], nil
	}
	return "", nil, badCommand
}

func (c *Conn) command(body []byte) error {
	_, err := c.net.Write(appendFrame(nil, flagCommand, body))
	return err
}

// Write sends a message in one piece.
func (c *Conn) Write(message Message) error {
	c.out = c.out[:0]
	for i, frame := range message {
		flags := byte(flagMore)
		if i == len(message)-1 {
			flags = 0
		}
		c.out = appendFrame(c.out, flags, frame)
	}
	_, err := c.net.Write(c.out)
	return err
}

func appendFrame(to []byte, flags byte, body []byte) []byte {
	if len(body) > 255 {
		to = binary.BigEndian.AppendUint64(append(to, flags|flagLong), uint64(len(body)))
	} else {
		to = append(to, flags, byte(len(body)))
	}
	return append(to, body...)
}

// Close closes the connection.
func (c *Conn) Close() error { return c.net.Close() }

// unexpected is an end within something.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("zmtp: %w", io.ErrUnexpectedEOF)
	}
	return err
}
