package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

type putArgs struct {
	Path   string `json:"path"`
	Mode   uint32 `json:"mode"`
	User   string `json:"user"`
	Offset int64  `json:"offset"`
	Last   bool   `json:"last"`
	SHA256 string `json:"sha256"`
	Size   *int64 `json:"size"`
}

// Stored is a file as it is now.
type Stored struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// puts are the files that are being written, by their paths. Each is beside its path until it is complete.
type puts struct {
	mu   sync.Mutex
	open map[string]*putting
}

type putting struct {
	mu   sync.Mutex
	file *os.File
	size int64
	hash hash.Hash
}

// put writes the next piece of a file; with the last one, a file that is whole gets its name.
func (n *Node) put(_ context.Context, c *call, args putArgs) (answer, error) {
	if err := checkPath(args.Path); err != nil {
		return answer{}, err
	}
	if args.Mode > 0o7777 {
		return answer{}, faultf(Input, "mode %#o: give permissions, such as 0644", args.Mode)
	}
	as, err := credential(args.User)
	if err != nil {
		return answer{}, err
	}
	p, err := n.puts.at(args.Path, args.Offset == 0)
	if err != nil {
		return answer{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if args.Offset != p.size {
		n.puts.drop(args.Path, p)
		return answer{}, faultf(Input, "%s: a piece at %d, but %d bytes are there", args.Path, args.Offset, p.size).
			with("send pieces in order, each when the one before was answered")
	}
	if _, err := p.file.Write(c.payload); err != nil {
		n.puts.drop(args.Path, p)
		return answer{}, err
	}
	p.hash.Write(c.payload)
	p.size += int64(len(c.payload))
	if !args.Last {
		return answer{value: Stored{Size: p.size}}, nil
	}
	defer n.puts.drop(args.Path, p) // nothing is beside the path any more if it went well
	stored := Stored{p.size, hex.EncodeToString(p.hash.Sum(nil))}
	if args.SHA256 != "" && args.SHA256 != stored.SHA256 || args.Size != nil && *args.Size != stored.Size {
		return answer{}, faultf(Failed, "%s arrived as %d bytes with SHA-256 %s, which is not what was sent",
			args.Path, stored.Size, stored.SHA256).with("send it again")
	}
	if as != nil {
		if err := p.file.Chown(int(as.Uid), int(as.Gid)); err != nil {
			return answer{}, err
		}
	}
	return answer{value: stored}, p.complete(args.Path, fs.FileMode(args.Mode))
}

// complete gives a file its permissions and its name, on the disk.
func (p *putting) complete(path string, mode fs.FileMode) error {
	err := cmp.Or(os.Chmod(p.file.Name(), unixMode(mode)), p.file.Sync(), p.file.Close())
	if err != nil { // the file that was there stays
		return err
	}
	return cmp.Or(os.Rename(p.file.Name(), path), syncFolder(filepath.Dir(path)))
}

// unixMode is how Go writes the bits for set-user-id, set-group-id and sticky.
func unixMode(mode fs.FileMode) fs.FileMode {
	plain := mode & 0o777
	for bit, is := range map[fs.FileMode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if mode&bit != 0 {
			plain |= is
		}
	}
	return plain
}

// at is the file being written for a path; a new one if it begins.
func (p *puts) at(path string, begins bool) (*putting, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.open[path]
	if found != nil && begins {
		return nil, faultf(Refused, "%s is being written already", path)
	}
	if found != nil {
		return found, nil
	}
	if !begins {
		return nil, faultf(Input, "nothing of %s was sent before this piece", path).with("begin at offset 0")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil, faultf(Input, "%s is a folder", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part")
	if err != nil {
		return nil, err
	}
	if p.open == nil {
		p.open = map[string]*putting{}
	}
	p.open[path] = &putting{file: file, hash: sha256.New()}
	return p.open[path], nil
}

// drop forgets a file, and removes what is beside its path.
func (p *puts) drop(path string, dropped *putting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = dropped.file.Close()
	_ = os.Remove(dropped.file.Name())
	delete(p.open, path)
}

// close removes what was not completed.
func (p *puts) close() {
	for path, file := range p.open {
		p.drop(path, file)
	}
}

func checkPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
		return faultf(Input, "path %.200q: give an absolute one without . and ..", path)
	}
	return nil
}

// syncFolder makes names in a folder last.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
