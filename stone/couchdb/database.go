package couchdb

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// document is the newest revision of one.
type document struct {
	id, revision string
	sequence     int             // sequence number of the last change
	body         json.RawMessage // without members that begin with "_"
}

// database holds documents, in memory alone.
type database struct {
	mutex     sync.RWMutex
	documents map[string]*document
	sequence  int
}

// put stores a document whose last revision is the given one, empty for a new document.
func (d *database) put(id, revision string, body json.RawMessage) (*document, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	before := ""
	if there := d.documents[id]; there != nil {
		before = there.revision
	}
	if revision != before {
		return nil, conflict
	}
	d.sequence++
	stored := &document{id, nextRevision(before, body), d.sequence, body}
	d.documents[id] = stored
	return stored, nil
}

func (d *database) get(id string) *document {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	return d.documents[id]
}

func (d *database) counts() (documents, sequence int) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	return len(d.documents), d.sequence
}

// all are the documents in an order.
func (d *database) all(order func(a, b *document) int) []*document {
	d.mutex.RLock()
	found := make([]*document, 0, len(d.documents))
	for _, each := range d.documents {
		found = append(found, each)
	}
	d.mutex.RUnlock()
	slices.SortFunc(found, order)
	return found
}

func byID(a, b *document) int { return strings.Compare(a.id, b.id) }

func bySequence(a, b *document) int { return a.sequence - b.sequence }

// nextRevision is the number of changes and a digest: equal changes have equal revisions.
func nextRevision(before string, body []byte) string {
	number, _, _ := strings.Cut(before, "-")
	changes, _ := strconv.Atoi(number)
	digest := md5.Sum(append([]byte(before), body...))
	return fmt.Sprintf("%d-%s", changes+1, hex.EncodeToString(digest[:]))
}

// text is the document with its id and its revision.
func (d *document) text() []byte {
	text := fmt.Appendf(nil, `{"_id":%s,"_rev":%q`, quoted(d.id), d.revision)
	if inside := strings.TrimSpace(string(d.body[1 : len(d.body)-1])); inside != "" {
		text = append(append(text, ','), inside...)
	}
	return append(text, '}')
}

func quoted(text string) []byte {
	encoded, _ := json.Marshal(text) // never fails for a string
	return encoded
}
