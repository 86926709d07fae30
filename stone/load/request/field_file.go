package request

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"loadstone.dev/stone/load/mistake"
)

const largestFile = 100_000_000

// file is a line of a text file, or a value of one column of a CSV file.
type file struct {
	text    []byte // the values, one after the other
	ends    []uint32
	most    int
	inOrder bool // request n takes value n, modulo their number; otherwise any
}

func compileFile(f *Field, key string, _ *fieldSet) (drawer, error) {
	if f.Order != "" && f.Order != "random" && f.Order != "sequence" {
		return nil, mistake.New(key+".order", "%q is not known; give random or sequence", f.Order)
	}
	if f.Path == "" {
		return nil, mistake.New(key+".path", "missing; give a text file, or a CSV file and a column")
	}
	content, err := readValues(f.Path)
	if err != nil {
		return nil, mistake.New(key+".path", "%v", err)
	}
	values := &file{inOrder: f.Order == "sequence"}
	if f.Column == "" {
		err = values.lines(content)
	} else {
		err = values.column(content, f.Column)
	}
	if err == nil && len(values.ends) == 0 {
		err = errors.New(" has no values")
	}
	if err != nil {
		return nil, mistake.New(key+".path", "%s%v", f.Path, err)
	}
	return *values, nil
}

// readValues reads a regular file of at most 100 MB, without the byte order mark that some editors leave.
func readValues(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > largestFile:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), largestFile)
	}
	content, err := os.ReadFile(path)
	return bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")), err
}

// lines takes each line of the content, whose memory it uses again. Errors begin with ":LINE: ".
func (f *file) lines(content []byte) error {
	f.text = content[:0] // never longer than what was read
	for number := 1; len(content) > 0; number++ {
		line, rest, _ := bytes.Cut(content, []byte("\n"))
		content = rest
		if err := f.add(bytes.TrimSuffix(line, []byte("\r"))); err != nil {
			return fmt.Errorf(":%d: %w", number, err)
		}
	}
	return nil
}

// column takes the values below a name in the first row.
func (f *file) column(content []byte, name string) error {
	reader := csv.NewReader(bytes.NewReader(content))
	reader.ReuseRecord = true
	column := -1
	for {
		record, err := reader.Read()
		var malformed *csv.ParseError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &malformed):
			return fmt.Errorf(":%d: not CSV: %w", malformed.Line, malformed.Err)
		case column < 0:
			for i, heading := range record {
				if heading == name {
					column = i
				}
			}
			if column < 0 {
				return fmt.Errorf(":1: no column %q; it has %s", name, strings.Join(record, ", "))
			}
			continue
		}
		if err := f.add([]byte(record[column])); err != nil {
			line, _ := reader.FieldPos(column)
			return fmt.Errorf(":%d: %w", line, err)
		}
	}
}

func (f *file) add(value []byte) error {
	switch {
	case len(value) == 0:
		return errors.New("the value is empty; remove the line")
	case len(value) > longestValue:
		return fmt.Errorf("the value has %d bytes; at most %d", len(value), longestValue)
	}
	for _, b := range value {
		if b < ' ' && b != '\t' || b == 0x7f {
			return fmt.Errorf("the value has a control character (0x%02x)", b)
		}
	}
	f.text = append(f.text, value...)
	f.ends, f.most = append(f.ends, uint32(len(f.text))), max(f.most, len(value))
	return nil
}

func (f file) draw(v *values) int64 {
	var index int
	if f.inOrder {
		index = int(v.n % uint64(len(f.ends)))
	} else {
		index = v.random.IntN(len(f.ends))
	}
	from := uint32(0)
	if index > 0 {
		from = f.ends[index-1]
	}
	v.text = append(v.text, f.text[from:f.ends[index]]...)
	return int64(index)
}

func (f file) width() int { return f.most }
