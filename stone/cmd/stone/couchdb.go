package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"loadstone.dev/stone/couchdb"
)

const couchdbHelp = `usage: stone couchdb [--listen HOST:PORT]

Stands in for CouchDB where none is installed: the part of its HTTP API that the docstore uses, in memory alone, until SIGTERM
or SIGINT. Numbers that are measured with it are not CouchDB's.

  --listen HOST:PORT   where; 127.0.0.1:0 takes a free port, which is printed  (127.0.0.1:5984)

Example: stone couchdb --listen 127.0.0.1:5984

Exit codes: 0 stopped by SIGINT or SIGTERM, 1 unexpected, 2 bad input.
`

func init() {
	verbs["couchdb"] = verb{"a stand-in for CouchDB: the part of its HTTP API that the docstore uses", runCouchDB}
}

func runCouchDB(args []string) int {
	flags := flag.NewFlagSet("couchdb", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("listen", "127.0.0.1:5984", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(couchdbHelp)
		return 0
	case err != nil:
		return couchdbFailed(2, err)
	case flags.NArg() > 0:
		return couchdbFailed(2, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return couchdbFailed(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := &http.Server{Handler: couchdb.New(version), ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(os.Stderr, "stone couchdb: ", 0)}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Printf("listening on %s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return couchdbFailed(1, err)
	}
	return 0
}

func couchdbFailed(code int, err error) int {
	fmt.Fprintf(os.Stderr, "stone couchdb: %v; see 'stone couchdb --help'\n", err)
	return code
}
