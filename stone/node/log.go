package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	logBlockBytes = 64 << 10

	mostLogBytes = 64 << 20 // kept of a log, its end; up to twice as much until it is read
	logEvery     = 10 * time.Second
)

type logArgs struct {
	Deployment string `json:"deployment"`
	Name       string `json:"name"`
	Lines      int    `json:"lines"`
	MostBytes  int    `json:"most_bytes"`
}

// Logged has the lines as its payload. Truncated: there are fewer than requested, though the log has more.
type Logged struct {
	Truncated bool `json:"truncated"`
}

// log gives the last lines that a process wrote, within as many bytes. It reads from the end.
func (n *Node) log(_ context.Context, _ *call, args logArgs) (answer, error) {
	if args.Lines < 1 || args.MostBytes < 1 || args.MostBytes > MostPayloadBytes {
		return answer{}, faultf(Input, "%d lines, %d bytes: give at least 1, and at most %d bytes",
			args.Lines, args.MostBytes, MostPayloadBytes)
	}
	if err := checkName("process", args.Name); err != nil {
		return answer{}, err
	}
	entry, err := n.find(args.Deployment)
	if err != nil {
		return answer{}, err
	}
	file, err := os.Open(entry.log(args.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return answer{}, faultf(Missing, "%s of %s has no log: it was never spawned", args.Name, entry.Deployment)
	}
	if err != nil {
		return answer{}, err
	}
	defer file.Close()
	text, truncated, err := lastLines(file, args.Lines, args.MostBytes)
	return answer{Logged{truncated}, text}, err
}

// lastLines reads blocks from the end until there are enough lines or bytes.
func lastLines(file *os.File, lines, most int) (text []byte, truncated bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	end, begin := info.Size(), info.Size()
	for begin > 0 && int(end-begin) < most {
		size := min(logBlockBytes, begin, int64(most)-(end-begin))
		block := make([]byte, size, size+int64(len(text)))
		if _, err := file.ReadAt(block, begin-size); err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		begin -= size
		text = append(block, text...)
		if at := startOfLast(text, lines); at > 0 {
			return text[at:], false, nil
		}
	}
	return text, begin > 0, nil
}

// startOfLast is where the last lines of a text begin; 0 if it has no more than those.
func startOfLast(text []byte, lines int) int {
	at := len(text)
	if at > 0 && text[at-1] == '\n' {
		at--
	}
	for range lines {
		if at = bytes.LastIndexByte(text[:at], '\n'); at < 0 {
			return 0
		}
	}
	return at + 1
}

// trimLogs frees, until ctx ends, the disk below the beginnings of long logs. Their processes go on writing where they
// are: nothing is renamed, and no line is lost between two files. Not every file system can (fallocate(2)).
func (n *Node) trimLogs(ctx context.Context) {
	for {
		files, _ := filepath.Glob(filepath.Join(n.deployments(), "*", "logs", "*.log"))
		for _, file := range files {
			trimLog(file, mostLogBytes)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(logEvery):
		}
	}
}

func trimLog(path string, most int64) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil { // another user's
		return
	}
	defer file.Close()
	stat := unix.Stat_t{}
	if unix.Fstat(int(file.Fd()), &stat) != nil || stat.Blocks*512 <= 2*most {
		return
	}
	_ = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, stat.Size-most)
}
