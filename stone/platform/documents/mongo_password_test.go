package documents_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/password"
)

// The stand-in for MongoDB knows no passwords, so what a service sends is checked by a server of its own, which knows
// nothing else.
func TestMongoDemandsThePassword(t *testing.T) {
	server := scramServer(t, "__system", "right")
	for given, refused := range map[string]string{"right": "", "wrong": "sasl", "": "requires authentication"} {
		address := "mongodb://__system@" + server + "/?authSource=local"
		if given == "" {
			address = "mongodb://" + server
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		store, err := documents.Open(ctx, password.In(address, given))
		if err == nil {
			err = store.Ping(ctx)
			_ = store.Close(ctx)
		}
		cancel()
		if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("password %q: %v", given, err)
		}
	}
}

// scramServer speaks MongoDB's protocol as far as to let a user in, and returns its address.
func scramServer(t *testing.T, user, password string) string {
	t.Helper()
	client, err := scram.SHA256.NewClient(user, password, "")
	if err != nil {
		t.Fatal(err)
	}
	known, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "0123456789abcdef", Iters: 4096})
	if err != nil {
		t.Fatal(err)
	}
	server, err := scram.SHA256.NewServer(func(name string) (scram.StoredCredentials, error) {
		if name != user {
			return scram.StoredCredentials{}, errors.New("no such user")
		}
		return known, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go (&scramConnection{connection, server.NewConversation()}).serve()
		}
	}()
	return listener.Addr().String()
}

type scramConnection struct {
	net.Conn
	conversation *scram.ServerConversation
}

// Kinds of messages: https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
const (
	opReply   = 1
	opQuery   = 2004
	opMessage = 2013
)

func (c *scramConnection) serve() {
	defer c.Close()
	for {
		header := make([]byte, 16)
		if _, err := io.ReadFull(c, header); err != nil {
			return
		}
		body := make([]byte, binary.LittleEndian.Uint32(header)-16)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		kind, command := binary.LittleEndian.Uint32(header[12:]), body[5:] // flags and the section's kind
		reply, start := opMessage, make([]byte, 5)
		if kind == opQuery { // how a client says hello: flags, collection, skipped, wanted
			command = body[4+strings.IndexByte(string(body[4:]), 0)+1+8:]
			reply, start = opReply, append(make([]byte, 16), 1, 0, 0, 0)
		}
		answer, err := bson.Marshal(c.answer(command))
		if err != nil {
			return
		}
		message := binary.LittleEndian.AppendUint32(nil, uint32(16+len(start)+len(answer)))
		message = binary.LittleEndian.AppendUint32(message, 0)
		message = append(message, header[4:8]...)
		message = binary.LittleEndian.AppendUint32(message, uint32(reply))
		if _, err := c.Write(append(append(message, start...), answer...)); err != nil {
			return
		}
	}
}

func (c *scramConnection) answer(command bson.Raw) bson.D {
	first, err := command.IndexErr(0)
	if err != nil {
		return bson.D{{Key: "ok", Value: 0}}
	}
	switch name := strings.ToLower(first.Key()); name {
	case "hello", "ismaster":
		return bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "ismaster", Value: true}, {Key: "maxWireVersion", Value: 21},
			{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}}, {Key: "ok", Value: 1}}
	case "saslstart", "saslcontinue":
		_, payload, _ := command.Lookup("payload").BinaryOK()
		if c.conversation.Done() { // the client's last, empty message
			return bson.D{{Key: "conversationId", Value: 1}, {Key: "done", Value: true}, {Key: "payload", Value: []byte{}}, {Key: "ok", Value: 1}}
		}
		next, err := c.conversation.Step(string(payload))
		if err != nil {
			return bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 18}, {Key: "errmsg", Value: "sasl: " + err.Error()}}
		}
		return bson.D{{Key: "conversationId", Value: 1}, {Key: "done", Value: false}, {Key: "payload", Value: []byte(next)}, {Key: "ok", Value: 1}}
	default:
		if !c.conversation.Valid() {
			return bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 13}, {Key: "errmsg", Value: "command " + name + " requires authentication"}}
		}
		return bson.D{{Key: "ok", Value: 1}}
	}
}
