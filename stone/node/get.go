package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const pieceBytes = 1 << 20

type getArgs struct {
	Path    string `json:"path"`
	FromEnd *int64 `json:"from_end"`
}

// piece is an event whose payload is the next part of a file.
type piece struct {
	Offset int64 `json:"offset"`
}

// get sends a file, or its last bytes, as it is: one that grows is sent up to where it ended when it was opened.
func (n *Node) get(ctx context.Context, c *call, args getArgs) (answer, error) {
	if err := checkPath(args.Path); err != nil {
		return answer{}, err
	}
	file, err := os.OpenFile(args.Path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe without a writer does not hold us
	if err != nil {
		return answer{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return answer{}, err
	}
	if !info.Mode().IsRegular() {
		return answer{}, faultf(Input, "%s is no file", args.Path)
	}
	offset, most := int64(0), info.Size()
	if args.FromEnd != nil {
		if *args.FromEnd < 0 {
			return answer{}, faultf(Input, "from_end is %d: give bytes", *args.FromEnd)
		}
		offset = max(info.Size()-*args.FromEnd, 0)
	}
	if most == 0 { // the kernel's files say that they are empty
		most = 1 << 62
	}
	sent, err := sendAll(ctx, c, io.NewSectionReader(file, offset, most-offset))
	return answer{value: sent}, err
}

// sendAll sends what there is to read in pieces, and gives its size and hash.
func sendAll(ctx context.Context, c *call, from io.Reader) (Stored, error) {
	sum, buffer, sent := sha256.New(), make([]byte, pieceBytes), int64(0)
	for {
		count, err := io.ReadFull(from, buffer)
		if count > 0 {
			sum.Write(buffer[:count])
			if err := c.event(piece{sent}, buffer[:count]); err != nil {
				return Stored{}, err
			}
			sent += int64(count)
		}
		switch {
		case ctx.Err() != nil:
			return Stored{}, ctx.Err()
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return Stored{sent, hex.EncodeToString(sum.Sum(nil))}, nil
		case err != nil:
			return Stored{}, err
		}
	}
}
