package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// only are the names in a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

func TestAFileThereAndBack(t *testing.T) {
	c := startNode(t, t.TempDir())
	path := filepath.Join(t.TempDir(), "new", "file")
	text := bytes.Repeat([]byte("0123456789abcde\n"), 10<<20/16) // three pieces
	for offset := 0; offset < len(text); offset += MostPayloadBytes {
		piece := text[offset:min(offset+MostPayloadBytes, len(text))]
		last := offset+len(piece) == len(text)
		answer, _ := c.ask("put", m{"path": path, "mode": 0o750, "offset": offset, "last": last, "sha256": digest(text), "size": len(text)}, piece)
		stored := Stored{}
		if err := json.Unmarshal(answer.OK, &stored); err != nil || stored.Size != int64(offset+len(piece)) || last != (stored.SHA256 == digest(text)) {
			t.Errorf("%+v %+v %v", answer.Error, stored, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o750 || info.Size() != int64(len(text)) || len(names(t, filepath.Dir(path))) != 1 {
		t.Errorf("%v %v, beside it %q", info, err, names(t, filepath.Dir(path)))
	}
	stored := Stored{}
	if got := c.must("get", m{"path": path}, &stored); !bytes.Equal(got, text) || stored.SHA256 != digest(text) {
		t.Errorf("%d bytes, %+v", len(got), stored)
	}
	if got := c.must("get", m{"path": path, "from_end": 17}, &stored); string(got) != "\n0123456789abcde\n" || stored.Size != 17 {
		t.Errorf("%q, %+v", got, stored)
	}
	if got := c.must("get", m{"path": path, "from_end": 1 << 40}, nil); len(got) != len(text) {
		t.Errorf("%d bytes", len(got))
	}
	if got := c.must("get", m{"path": "/proc/self/comm"}, nil); string(got) != "stone\n" {
		t.Errorf("a file of the kernel: %q", got)
	}
}

func TestFilesThatCannotBePut(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state)
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	c.fails("put", m{"path": path, "mode": 0o644, "offset": 0, "last": true, "sha256": digest([]byte("other"))}, Failed, "which is not what was sent")
	c.fails("put", m{"path": path, "mode": 0o644, "offset": 0, "last": true, "size": 7}, Failed, "which is not what was sent")
	c.fails("put", m{"path": path, "mode": 0o644, "offset": 5, "last": true}, Input, "nothing of "+path)
	c.must("put", m{"path": path, "mode": 0o644, "offset": 0, "last": false}, nil)
	c.fails("put", m{"path": path, "mode": 0o644, "offset": 9, "last": false}, Input, "a piece at 9, but 0 bytes are there")
	c.fails("put", m{"path": "file", "mode": 0o644, "offset": 0, "last": true}, Input, "give an absolute one")
	c.fails("put", m{"path": "/tmp/../etc/x", "mode": 0o644, "offset": 0, "last": true}, Input, "give an absolute one")
	c.fails("put", m{"path": folder, "mode": 0o644, "offset": 0, "last": true}, Input, "is a folder")
	c.fails("put", m{"path": path + "/below", "mode": 0o644, "offset": 0, "last": true}, Failed, "not a directory")
	c.fails("put", m{"path": path, "mode": 1 << 20, "offset": 0, "last": true}, Input, "give permissions")
	c.fails("get", m{"path": folder}, Input, "is no file")
	c.fails("get", m{"path": path + "2"}, Missing, "no such file")
	if text, _ := os.ReadFile(path); string(text) != "before" || len(names(t, folder)) != 1 {
		t.Errorf("%q, %q", text, names(t, folder))
	}
	// What was begun when the channel ends is removed.
	c.must("put", m{"path": path, "mode": 0o644, "offset": 0, "last": false}, nil)
	if len(names(t, folder)) != 2 {
		t.Errorf("while it is written: %q", names(t, folder))
	}
	if err := c.close(); err != nil || len(names(t, folder)) != 1 {
		t.Errorf("%v, left %q", err, names(t, folder))
	}
}

func TestAFileOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	c := startNode(t, t.TempDir())
	path := filepath.Join(t.TempDir(), "file")
	const owner = "nobody"
	c.must("put", m{"path": path, "mode": 0o4711, "user": owner, "offset": 0, "last": true}, nil)
	if out := c.must("run", m{"argv": []string{"stat", "-c", "%U %a %s", path}, "timeout_s": 30}, nil); string(out) != owner+" 4711 0\n" {
		t.Errorf("%q", out)
	}
}

// A file that cannot be put on the disk whole leaves the one that was there.
func TestAFileThatIsNotOnTheDiskHasNoName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	part, err := os.CreateTemp(filepath.Dir(path), "part")
	if err != nil {
		t.Fatal(err)
	}
	_ = part.Close() // so that fsync fails, as on a full disk
	if err := (&putting{file: part}).complete(path, 0o644); err == nil {
		t.Error("no error")
	}
	if text, err := os.ReadFile(path); string(text) != "before" {
		t.Errorf("%q, %v", text, err)
	}
}
