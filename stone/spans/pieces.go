package spans

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// PiecesSuffix is added to a trial's file for the pieces that it is made of.
const PiecesSuffix = ".pieces"

// A file of pieces is this line and then blocks: kind (1 byte), length (8), checksum (4), content. Numbers are
// little-endian. A block that is cut off or damaged ends it: what a killed process had not finished.
const piecesHead = "stone spans, pieces 1\n"

const (
	blockNames  = 'n' // further names: length (uvarint) and bytes of each
	blockSpans  = 's' // spans, sorted
	blockCounts = 'c' // Counts so far, JSON
	blockBytes  = 1 + 8 + 4

	mostSmallBlock = 1 << 30 // for names and counts, which are read whole
)

var checksum = crc32.MakeTable(crc32.Castagnoli)

// piece is where sorted spans lie in a file.
type piece struct {
	file   io.ReaderAt
	offset int64
	spans  int64
}

// pieces is a file of pieces that is being written. No other process can write or recover it meanwhile.
type pieces struct {
	file  *os.File
	size  int64
	known int // names that are in it
	all   []piece
	block []byte
}

func createPieces(path string) (*pieces, error) {
	file, err := lock(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	p := &pieces{file: file, size: int64(len(piecesHead)), known: len(newNames().text)}
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteAt([]byte(piecesHead), 0)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

var errLocked = errors.New("another process is recording into it")

func lock(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, errLocked), file.Close())
	}
	return file, nil
}

// add writes sorted spans, before them the names that they need, of all, and the counts with them.
func (p *pieces) add(spans []span, all []string, counts Counts) error {
	p.begin()
	for _, name := range all[p.known:] {
		p.block = binary.AppendUvarint(p.block, uint64(len(name)))
		p.block = append(p.block, name...)
	}
	if err := p.write(blockNames); err != nil {
		return err
	}
	p.known = len(all)
	text, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	p.begin()
	p.block = append(p.block, text...)
	if err := p.write(blockCounts); err != nil {
		return err
	}
	p.begin()
	for i := range spans {
		p.block = spans[i].append(p.block)
	}
	offset := p.size + blockBytes
	if err := p.write(blockSpans); err != nil {
		return err
	}
	p.all = append(p.all, piece{p.file, offset, int64(len(spans))})
	return nil
}

func (p *pieces) begin() { p.block = append(p.block[:0], make([]byte, blockBytes)...) }

func (p *pieces) write(kind byte) error {
	content := p.block[blockBytes:]
	p.block[0] = kind
	binary.LittleEndian.PutUint64(p.block[1:], uint64(len(content)))
	binary.LittleEndian.PutUint32(p.block[9:], crc32.Checksum(content, checksum))
	if _, err := p.file.WriteAt(p.block, p.size); err != nil {
		return err
	}
	p.size += int64(len(p.block))
	return nil
}

// readPieces finds what is whole in a file of pieces: the pieces, the names and the last counts.
func readPieces(file *os.File) (all []piece, n *names, counts Counts, err error) {
	head := make([]byte, len(piecesHead))
	if _, err := io.ReadFull(file, head); err != nil || string(head) != piecesHead {
		return nil, nil, counts, fmt.Errorf("%s is no file of pieces that this version of stone wrote", file.Name())
	}
	n, offset := newNames(), int64(len(piecesHead))
	for {
		kind, content, spans, whole := readBlock(file, offset)
		if !whole {
			return all, n, counts, nil
		}
		offset += blockBytes
		switch kind {
		case blockSpans:
			all = append(all, piece{file, offset, spans / recordBytes})
			offset += spans
			continue
		case blockCounts:
			counts = Counts{}
			if json.Unmarshal(content, &counts) != nil {
				return all, n, counts, nil
			}
		case blockNames:
			if !n.take(content) {
				return all, n, counts, nil
			}
		}
		offset += int64(len(content))
	}
}

// readBlock reads the block at an offset, of spans only their length in bytes, and tells whether it is all there.
func readBlock(file *os.File, offset int64) (kind byte, content []byte, spans int64, whole bool) {
	head := make([]byte, blockBytes)
	if _, err := file.ReadAt(head, offset); err != nil {
		return 0, nil, 0, false
	}
	length := int64(binary.LittleEndian.Uint64(head[1:]))
	if length < 0 {
		return 0, nil, 0, false
	}
	body := io.NewSectionReader(file, offset+blockBytes, length)
	sum := crc32.New(checksum)
	switch kind = head[0]; {
	case kind == blockSpans && length%recordBytes == 0:
		spans, _ = io.Copy(sum, body)
		whole = spans == length
	case (kind == blockNames || kind == blockCounts) && length <= mostSmallBlock:
		content, _ = io.ReadAll(io.TeeReader(body, sum))
		whole = int64(len(content)) == length
	}
	return kind, content, spans, whole && sum.Sum32() == binary.LittleEndian.Uint32(head[9:])
}

// take adds the names of a block as they are.
func (n *names) take(block []byte) bool {
	for len(block) > 0 {
		length, read := binary.Uvarint(block)
		if read <= 0 || length > uint64(len(block)-read) {
			return false
		}
		n.text = append(n.text, string(block[read:read+int(length)]))
		block = block[read+int(length):]
	}
	return true
}

// name returns a text; a number without a name, in a damaged file, counts as one beyond the limit.
func (n *names) name(number uint32) string {
	if int(number) < len(n.text) {
		return n.text[number]
	}
	return Others
}
