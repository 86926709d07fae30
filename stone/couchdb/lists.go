package couchdb

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// bulk stores several documents, each for itself.
func (s *server) bulk(r *http.Request) (int, any, error) {
	into, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	text, err := received(r, largestBulk)
	if err != nil {
		return 0, nil, err
	}
	var given struct {
		Docs []json.RawMessage `json:"docs"`
	}
	if json.Unmarshal(text, &given) != nil {
		return 0, nil, notJSON
	}
	documents := make([]content, len(given.Docs))
	for i, text := range given.Docs { // all of them, before any is stored
		if documents[i], err = parse(text); err != nil {
			return 0, nil, err
		}
	}
	rows := make([]any, len(documents))
	for i, one := range documents {
		_, row, err := s.store(into, one)
		if err != nil {
			row = map[string]string{"id": one.id, "error": conflict.Kind, "reason": conflict.Reason}
		}
		rows[i] = row
	}
	return http.StatusCreated, rows, nil
}

// list are the documents by id.
func (s *server) list(r *http.Request) (int, any, error) {
	in, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	window, err := windowOf(r.URL.Query())
	if err != nil {
		return 0, nil, err
	}
	all := in.all(byID)
	rows := []json.RawMessage{}
	for _, each := range all[min(window.skip, len(all)):min(window.skip+window.limit, len(all))] {
		rows = append(rows, window.row(each))
	}
	return http.StatusOK, map[string]any{"total_rows": len(all), "offset": min(window.skip, len(all)), "rows": rows}, nil
}

// find are documents by their ids, in that order.
func (s *server) find(r *http.Request) (int, any, error) {
	in, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	window, err := windowOf(r.URL.Query())
	if err != nil {
		return 0, nil, err
	}
	text, err := received(r, largestBulk)
	if err != nil {
		return 0, nil, err
	}
	var given struct{ Keys []string }
	if json.Unmarshal(text, &given) != nil {
		return 0, nil, notJSON
	}
	rows := make([]json.RawMessage, len(given.Keys))
	for i, key := range given.Keys {
		if found := in.get(key); found != nil {
			rows[i] = window.row(found)
		} else {
			rows[i] = fmt.Appendf(nil, `{"key":%s,"error":"not_found"}`, quoted(key))
		}
	}
	documents, _ := in.counts()
	return http.StatusOK, map[string]any{"total_rows": documents, "rows": rows}, nil
}

// changes are the last changes of documents since one of them.
func (s *server) changes(r *http.Request) (int, any, error) {
	in, err := s.database(r)
	if err != nil {
		return 0, nil, err
	}
	window, err := windowOf(r.URL.Query())
	if err != nil {
		return 0, nil, err
	}
	rows, last, pending := []json.RawMessage{}, window.since, 0
	for _, each := range in.all(bySequence) {
		switch {
		case each.sequence <= window.since:
		case len(rows) == window.limit:
			pending++
		default:
			row := fmt.Appendf(nil, `{"seq":"%d","id":%s,"changes":[{"rev":%q}]`, each.sequence, quoted(each.id), each.revision)
			rows, last = append(rows, window.end(row, each)), each.sequence
		}
	}
	return http.StatusOK, map[string]any{"results": rows, "last_seq": strconv.Itoa(last), "pending": pending}, nil
}

// window is the part of a list that is wanted.
type window struct {
	skip, limit, since int
	documents          bool
}

const mostRows = 1 << 40

func windowOf(query url.Values) (window, error) {
	w := window{limit: mostRows, documents: query.Get("include_docs") == "true"}
	for name, into := range map[string]*int{"skip": &w.skip, "limit": &w.limit, "since": &w.since} {
		if text := query.Get(name); text != "" {
			number, err := strconv.Atoi(text)
			if err != nil || number < 0 || number > mostRows {
				return w, &problem{http.StatusBadRequest, "query_parse_error", fmt.Sprintf("Invalid value for %s: %q", name, text)}
			}
			*into = number
		}
	}
	return w, nil
}

// row is a document's of a list.
func (w window) row(of *document) json.RawMessage {
	return w.end(fmt.Appendf(nil, `{"id":%s,"key":%s,"value":{"rev":%q}`, quoted(of.id), quoted(of.id), of.revision), of)
}

// end completes a row.
func (w window) end(row []byte, of *document) json.RawMessage {
	if w.documents {
		row = append(append(row, `,"doc":`...), of.text()...)
	}
	return append(row, '}')
}
