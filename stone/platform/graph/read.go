package graph

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Read reads an edge list: two node numbers a line, "u v", numbered from 0; lines that begin with # are comments. A name
// that ends in .gz is one that gzip compressed. An edge that is there again, either way round, and one from a node to
// itself add nothing. The number of nodes stands in a file of the same name that ends in .nodes; without such a file it
// is one above the greatest number. It takes up to 16 bytes an edge, beside the Graph.
func Read(file string) (*Graph, error) {
	nodes, err := readNodes(nodesFile(file))
	if err != nil {
		return nil, err
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	var from io.Reader = opened
	if strings.HasSuffix(file, ".gz") {
		if from, err = gzip.NewReader(opened); err != nil {
			return nil, fmt.Errorf("%s: is not compressed by gzip: %w", file, err)
		}
	}
	list := edgeList{nodes: nodes, nodesFile: nodesFile(file)}
	if err := list.read(from); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, list.line, err)
	}
	if len(list.edges) == 0 {
		return nil, fmt.Errorf("%s: holds no edges", file)
	}
	if nodes == 0 {
		nodes = list.greatest + 1
	}
	return newGraph(nodes, list.edges), nil
}

// nodesFile is graph.nodes of graph.edges and graph.edges.gz.
func nodesFile(file string) string {
	file = strings.TrimSuffix(file, ".gz")
	return strings.TrimSuffix(file, filepath.Ext(file)) + ".nodes"
}

// readNodes is 0 if there is no such file.
func readNodes(file string) (int, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	nodes, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || nodes < 1 || nodes > largest {
		return 0, fmt.Errorf("%s:1: %q is no number of nodes: write one from 1 to %d", file, excerpt(text), largest)
	}
	return nodes, nil
}

// edgeList is what was read so far.
type edgeList struct {
	nodes     int // 0: any
	nodesFile string
	line      int
	greatest  int
	edges     []uint64
}

func (l *edgeList) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	for l.line = 1; lines.Scan(); l.line++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if err := l.take(text); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (l *edgeList) take(text []byte) error {
	first, rest, _ := bytes.Cut(bytes.ReplaceAll(text, []byte{'\t'}, []byte{' '}), []byte{' '})
	u, err := l.node(text, first)
	if err != nil {
		return err
	}
	v, err := l.node(text, bytes.TrimSpace(rest))
	if err != nil {
		return err
	}
	if u != v {
		l.edges = append(l.edges, pack(u, v))
	}
	return nil
}

func (l *edgeList) node(line, text []byte) (uint32, error) {
	node, err := strconv.ParseUint(string(text), 10, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no edge: write two node numbers, such as %q", excerpt(line), "0 17")
	case l.nodes > 0 && node >= uint64(l.nodes):
		return 0, fmt.Errorf("node %d: %s says that there are %d, numbered from 0", node, l.nodesFile, l.nodes)
	case node >= largest:
		return 0, fmt.Errorf("node %d: at most %d nodes are taken; number them from 0 without gaps", node, largest)
	}
	l.greatest = max(l.greatest, int(node))
	return uint32(node), nil
}

// excerpt is the beginning of a text: a line can be long.
func excerpt(text []byte) string {
	const longest = 40
	if len(text) > longest {
		return string(text[:longest]) + "..."
	}
	return string(text)
}
