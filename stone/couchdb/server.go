// Package couchdb stands in for CouchDB where no CouchDB is: the part of its HTTP API that the docstore, its seeding and its load
// use, with the same statuses and errors, in memory. It is not CouchDB: nothing is written to a disk, there are no views and no
// replication, and what it measures stands for itself alone.
package couchdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// largestDocument is CouchDB's own default (couchdb/max_document_size).
const largestDocument = 8_000_000

// largestBulk is that of a request with several documents (chttpd/max_http_request_size has more by default).
const largestBulk = 64 << 20

// problem is an error as CouchDB reports it.
type problem struct {
	status int
	Kind   string `json:"error"`
	Reason string `json:"reason"`
}

func (p *problem) Error() string { return p.Kind + ": " + p.Reason }

var (
	conflict    = &problem{http.StatusConflict, "conflict", "Document update conflict."}
	missing     = &problem{http.StatusNotFound, "not_found", "missing"}
	noDatabase  = &problem{http.StatusNotFound, "not_found", "Database does not exist."}
	exists      = &problem{http.StatusPreconditionFailed, "file_exists", "The database could not be created, the file already exists."}
	notJSON     = &problem{http.StatusBadRequest, "bad_request", "invalid UTF-8 JSON"}
	noObject    = &problem{http.StatusBadRequest, "bad_request", "Document must be a JSON object"}
	noMediaType = &problem{http.StatusUnsupportedMediaType, "bad_content_type", "Content-Type must be application/json"}
	reserved    = &problem{http.StatusBadRequest, "illegal_docid", "Only reserved document ids may start with underscore."}
	tooLarge    = &problem{http.StatusRequestEntityTooLarge, "document_too_large", ""}
	badName     = &problem{http.StatusBadRequest, "illegal_database_name", "Name must begin with a lower-case letter, then a-z, 0-9 and any of _$()+/-"}
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_$()+/-]*$`)

type server struct {
	version string

	mutex     sync.RWMutex
	databases map[string]*database
	prefix    string // prefix for the ids that it makes
	made      uint32
}

// New is a server without databases; version is what it says of itself.
func New(version string) http.Handler {
	s := &server{version: version, databases: map[string]*database{}}
	s.prefix = fmt.Sprintf("%016x%08x", rand.Uint64(), rand.Uint32())
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*http.Request) (int, any, error){
		"GET /{$}": s.welcome, "GET /_up": up, "PUT /{db}": s.create, "DELETE /{db}": s.remove, "GET /{db}": s.about, "POST /{db}": s.insert,
		"PUT /{db}/_security": s.secure, "GET /{db}/_all_docs": s.list, "POST /{db}/_all_docs": s.find, "GET /{db}/_changes": s.changes, "POST /{db}/_bulk_docs": s.bulk,
		"GET /{db}/{id}": s.read, "PUT /{db}/{id}": s.write,
	} {
		mux.HandleFunc(pattern, serve(answer))
	}
	return mux
}

func serve(answer func(*http.Request) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, body, err := answer(r)
		var known *problem
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &known):
			status, body = known.status, known
		case errors.As(err, &large):
			status, body = tooLarge.status, tooLarge
		case err != nil:
			status, body = http.StatusBadRequest, &problem{0, "bad_request", err.Error()}
		}
		text, is := body.([]byte)
		if !is {
			text, _ = json.Marshal(body) // never fails for our own types
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(append(text, '\n')) // fails only if the client went away
	}
}

func (s *server) welcome(*http.Request) (int, any, error) {
	return http.StatusOK, map[string]any{
		"couchdb": "Welcome", "version": s.version, "vendor": map[string]string{"name": "Loadstone's stand-in for CouchDB"},
	}, nil
}

func up(*http.Request) (int, any, error) {
	return http.StatusOK, map[string]string{"status": "ok"}, nil
}

func (s *server) create(r *http.Request) (int, any, error) {
	name := r.PathValue("db")
	if !nameForm.MatchString(name) {
		return 0, nil, badName
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.databases[name] != nil {
		return 0, nil, exists
	}
	s.databases[name] = &database{documents: map[string]*document{}}
	return http.StatusCreated, done, nil
}

var done = map[string]bool{"ok": true}

func (s *server) remove(r *http.Request) (int, any, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.databases[r.PathValue("db")] == nil {
		return 0, nil, noDatabase
	}
	delete(s.databases, r.PathValue("db"))
	return http.StatusOK, done, nil
}

// secure accepts who may do what, which everybody may here.
func (s *server) secure(r *http.Request) (int, any, error) {
	_, err := s.database(r)
	return http.StatusOK, done, err
}

func (s *server) database(r *http.Request) (*database, error) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if found := s.databases[r.PathValue("db")]; found != nil {
		return found, nil
	}
	return nil, noDatabase
}

func (s *server) about(r *http.Request) (int, any, error) {
	in, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	documents, sequence := in.counts()
	return http.StatusOK, map[string]any{
		"db_name": r.PathValue("db"), "doc_count": documents, "doc_del_count": 0, "update_seq": strconv.Itoa(sequence),
	}, nil
}

// content is what a document is made of: its id and its last revision, where it names them, and the rest.
type content struct {
	id, revision string
	body         json.RawMessage
}

func parse(text []byte) (content, error) {
	var members map[string]json.RawMessage
	if !json.Valid(text) || !utf8.Valid(text) {
		return content{}, notJSON
	}
	if json.Unmarshal(text, &members) != nil || members == nil {
		return content{}, noObject
	}
	var found content
	special := map[string]*string{"_id": &found.id, "_rev": &found.revision}
	for name, value := range members {
		into := special[name]
		switch {
		case len(name) == 0 || name[0] != '_':
			continue
		case into == nil:
			return found, &problem{http.StatusBadRequest, "doc_validation", "Bad special document member: " + name}
		case json.Unmarshal(value, into) != nil:
			return found, &problem{http.StatusBadRequest, "bad_request", name + " must be a text"}
		}
		delete(members, name)
	}
	if strings.HasPrefix(found.id, "_") {
		return found, reserved
	}
	found.body, _ = json.Marshal(members) // what was parsed
	return found, nil
}

// received is the whole body; of one that is too large nothing.
func received(r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, tooLarge
	}
	return io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
}

func (s *server) insert(r *http.Request) (int, any, error) {
	into, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return 0, nil, noMediaType
	}
	text, err := received(r, largestDocument)
	if err != nil {
		return 0, nil, err
	}
	given, err := parse(text)
	if err != nil {
		return 0, nil, err
	}
	return s.store(into, given)
}

func (s *server) write(r *http.Request) (int, any, error) {
	into, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	text, err := received(r, largestDocument)
	if err != nil {
		return 0, nil, err
	}
	given, err := parse(text)
	if err != nil {
		return 0, nil, err
	}
	if given.id = r.PathValue("id"); strings.HasPrefix(given.id, "_") {
		return 0, nil, reserved
	}
	if revision := r.URL.Query().Get("rev"); revision != "" {
		given.revision = revision
	}
	return s.store(into, given)
}

func (s *server) store(into *database, given content) (int, any, error) {
	if given.id == "" {
		given.id = s.nextID()
	}
	stored, err := into.put(given.id, given.revision, given.body)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"ok": true, "id": stored.id, "rev": stored.revision}, nil
}

// nextID counts below a random number, as CouchDB's sequential identifiers do.
func (s *server) nextID() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.made++
	return fmt.Sprintf("%s%08x", s.prefix, s.made)
}

func (s *server) read(r *http.Request) (int, any, error) {
	in, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	if found := in.get(r.PathValue("id")); found != nil {
		return http.StatusOK, found.text(), nil
	}
	return 0, nil, missing
}
