package spans

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

const (
	mergeBytes    = 16 << 20 // that a merge reads ahead, of all pieces together
	mostReadAhead = 256 << 10
	mostAtOnce    = 2048 // pieces that are merged in one pass: each needs a few records in memory
)

// merge calls each for the spans of all pieces in order. More pieces than can be merged at once are made fewer first,
// in scratch files that are removed at the end.
func merge(all []piece, scratch string, each func(*span) error) error {
	for number := 0; len(all) > mostAtOnce; number++ {
		file, err := os.Create(scratch)
		if err != nil {
			return err
		}
		_ = os.Remove(scratch) // it lives until it is closed
		defer file.Close()
		longer := piece{file: file}
		out := bufio.NewWriterSize(file, 1<<20)
		var record []byte
		err = mergeAtOnce(all[:mostAtOnce], func(s *span) error {
			longer.spans++
			record = s.append(record[:0])
			_, err := out.Write(record)
			return err
		})
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return err
		}
		all = append(all[mostAtOnce:len(all):len(all)], longer)
	}
	return mergeAtOnce(all, each)
}

// source reads a piece from its begin.
type source struct {
	head   span
	left   int64  // spans behind the head
	ahead  []byte // read, not yet taken
	buffer []byte
	rest   io.Reader
}

// next makes the next span the head and tells whether there was one.
func (s *source) next() (bool, error) {
	if s.left == 0 {
		return false, nil
	}
	if len(s.ahead) == 0 {
		s.ahead = s.buffer[:min(int64(len(s.buffer)), s.left*recordBytes)]
		if _, err := io.ReadFull(s.rest, s.ahead); err != nil {
			return false, fmt.Errorf("a piece ends too early: %w", err)
		}
	}
	s.head.read(s.ahead)
	s.ahead = s.ahead[recordBytes:]
	s.left--
	return true, nil
}

func mergeAtOnce(all []piece, each func(*span) error) error {
	var heap []*source
	for _, piece := range all {
		ahead := min(mergeBytes/len(all), mostReadAhead, int(min(piece.spans*recordBytes, mostReadAhead)))
		s := &source{
			left:   piece.spans,
			buffer: make([]byte, max(1, ahead/recordBytes)*recordBytes),
			rest:   io.NewSectionReader(piece.file, piece.offset, piece.spans*recordBytes),
		}
		more, err := s.next()
		if err != nil {
			return err
		}
		if more {
			heap = append(heap, s)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for len(heap) > 0 {
		first := heap[0]
		if err := each(&first.head); err != nil {
			return err
		}
		more, err := first.next()
		if err != nil {
			return err
		}
		if !more {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap, 0)
	}
	return nil
}

// sink restores the order of a heap whose i-th source may be too far up.
func sink(heap []*source, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && compare(&heap[child+1].head, &heap[child].head) < 0 {
			child++
		}
		if compare(&heap[i].head, &heap[child].head) <= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
