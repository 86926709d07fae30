package zmtp

import "net"

// Client is a REQ socket over one connection: a request, its reply, the next request.
type Client struct{ conn *Conn }

// NewClient makes the handshake; replies larger than limit bytes are not accepted.
func NewClient(conn net.Conn, limit int) (*Client, error) {
	opened, err := Open(conn, Req, limit)
	if err != nil {
		return nil, err
	}
	return &Client{opened}, nil
}

// Call sends a request and waits for its reply. After an error the connection is of no use: a late reply would be taken for
// that to the next request.
func (c *Client) Call(request Message) (Message, error) {
	if err := c.conn.Write(append(Message{nil}, request...)); err != nil {
		return nil, err
	}
	reply, err := c.conn.Read()
	if err != nil {
		return nil, err
	}
	if len(reply) < 2 || len(reply[0]) > 0 {
		return nil, noEnvelope
	}
	return reply[1:], nil
}
