package spans

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Recover makes the files of the trials below a folder whose receiver was killed, of what it had written, and calls
// each for every one. What another process is recording is left alone. A problem with one does not stop the others.
func Recover(folder string, each func(file string, counts Counts)) error {
	var problems []error
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, PiecesSuffix) {
			return err
		}
		counts, err := recoverPieces(path)
		switch {
		case errors.Is(err, errLocked):
		case err != nil:
			problems = append(problems, err)
		default:
			each(strings.TrimSuffix(path, PiecesSuffix), counts)
		}
		return nil
	})
	return errors.Join(append(problems, err)...)
}

// Left tells whether there are pieces of a file whose receiver was killed, with something in them.
func Left(file string) bool {
	found, err := lock(file+PiecesSuffix, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer found.Close()
	all, _, _, err := readPieces(found)
	return err == nil && len(all) > 0
}

func recoverPieces(path string) (Counts, error) {
	file, err := lock(path, os.O_RDONLY)
	if err != nil {
		return Counts{}, err
	}
	defer file.Close()
	all, names, counts, err := readPieces(file)
	if err != nil {
		return Counts{}, err
	}
	counts.Recording, counts.Recovered = false, true
	if counts.Replicas == nil {
		counts.Replicas = map[string]Replica{}
	}
	if counts, err = finish(strings.TrimSuffix(path, PiecesSuffix), all, names, counts); err != nil {
		return Counts{}, err
	}
	if err := os.Remove(path); err != nil {
		return counts, fmt.Errorf("the file is made: %w", err)
	}
	return counts, nil
}
