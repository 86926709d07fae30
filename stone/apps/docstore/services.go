// Package docstore is the system under test of a study of a document database behind a message queue (Lee, Kannan, Gao): a
// ZeroMQ socket that reads a document from CouchDB for each request. Written from published facts; what the study leaves open is
// a parameter.
package docstore

import (
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/service"
)

// Services are the services by name.
var Services = map[string]service.Definition{
	"queue": {
		Summary: "reads a document for each message of a ZeroMQ REQ socket",
		Wants:   config.Wants{Needs: []string{"couchdb"}, Tasks: []config.Task{config.Socket}},
		Start:   startQueue,
	},
}

// Database is the name of the only database.
const Database = "documents"
