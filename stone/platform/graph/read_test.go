package graph

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadTakesEachEdgeOnce(t *testing.T) {
	const text = "# a comment\n0 1\n\n 2\t1 \r\n1 0\n1 2\n3 3\n  # another\n0 3\n"
	for name, content := range map[string][]byte{"g.edges": []byte(text), "g.edges.gz": compress(t, text)} {
		folder := t.TempDir()
		file := put(t, folder, name, content)
		wantGraph(t, file, 4, "[[1 3] [0 2] [1] [0]]")
		put(t, folder, "g.nodes", []byte("6\n"))
		wantGraph(t, file, 6, "[[1 3] [0 2] [1] [0] [] []]")
	}
}

func TestReadSaysWhereAndWhat(t *testing.T) {
	for text, says := range map[string]string{
		"0 1\n0 x\n":            `g.edges:2: "0 x" is no edge: write two node numbers, such as "0 17"`,
		"0 1\n#\n5\n":           `g.edges:3: "5" is no edge`,
		"0 1 0.5\n":             `g.edges:1: "0 1 0.5" is no edge`,
		"-1 2\n":                `g.edges:1: "-1 2" is no edge`,
		"0,1\n":                 `g.edges:1: "0,1" is no edge`,
		"0 99999999999999\n":    `g.edges:1: "0 99999999999999" is no edge`,
		"0 1\n0 4294967295\n":   `g.edges:2: node 4294967295: at most 67108864 nodes are taken; number them from 0`,
		"":                      "g.edges: holds no edges",
		"# 0 1\n":               "g.edges: holds no edges",
		"1 1\n":                 "g.edges: holds no edges",
		strings.Repeat("x", 99): `g.edges:1: "` + strings.Repeat("x", 40) + `..." is no edge`,
	} {
		wantError(t, put(t, t.TempDir(), "g.edges", []byte(text)), says)
	}
	folder := t.TempDir()
	file := put(t, folder, "g.edges", []byte("0 1\n2 1\n"))
	put(t, folder, "g.nodes", []byte("2"))
	wantError(t, file, "g.edges:2: node 2: "+filepath.Join(folder, "g.nodes")+" says that there are 2, numbered from 0")
	for _, number := range []string{"", "0", "-5", "many", "67108865"} {
		put(t, folder, "g.nodes", []byte(number))
		wantError(t, file, fmt.Sprintf("g.nodes:1: %q is no number of nodes", number))
	}
	wantError(t, filepath.Join(folder, "absent.edges"), "absent.edges")
	wantError(t, put(t, folder, "plain.edges.gz", []byte("0 1\n")), "plain.edges.gz: is not compressed by gzip: ")
}

func TestReadGivesBackWhatWasGenerated(t *testing.T) {
	g := generate(t, 300, 3000, 7)
	var text strings.Builder
	for u := range g.Nodes() {
		for _, v := range g.Neighbours(u) {
			fmt.Fprintln(&text, v, u) // each edge twice
		}
	}
	read, err := Read(put(t, t.TempDir(), "g.edges", []byte(text.String())))
	if err != nil || read.Digest() != g.Digest() || read.Edges() != 3000 {
		t.Errorf("read %v, %v", read, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("0 1\n1 2\n", "")
	f.Add("# x\n0\t1", "5")
	f.Add("1 1\n4294967295 1\n", "x")
	f.Fuzz(func(t *testing.T, edges, nodes string) {
		folder := t.TempDir()
		if nodes != "" {
			put(t, folder, "g.nodes", []byte(nodes))
		}
		list := edgeList{nodes: 1 << 10} // large numbers of nodes would only take time
		if list.read(strings.NewReader(edges)) != nil || len(list.edges) == 0 {
			_, _ = readNodes(filepath.Join(folder, "g.nodes"))
			return
		}
		wantSimple(t, edges, newGraph(1<<10, list.edges))
	})
}

func put(t testing.TB, folder, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func compress(t *testing.T, text string) []byte {
	t.Helper()
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return compressed.Bytes()
}

func wantGraph(t *testing.T, file string, nodes int, want string) {
	t.Helper()
	g, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]uint32
	for node := range g.Nodes() {
		all = append(all, g.Neighbours(node))
	}
	if g.Nodes() != nodes || fmt.Sprint(all) != want {
		t.Errorf("%s: %d nodes, %v, want %s", file, g.Nodes(), all, want)
	}
}

func wantError(t *testing.T, file, says string) {
	t.Helper()
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %s", err, says)
	}
}
