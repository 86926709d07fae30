package script

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A script comes from wherever it was published, and runs as who measures. So it reads files in its own folder and in the
// results, writes them in the results alone, and sees the variables of the plan alone. Links lead nowhere else.

// library is where distributions keep modules in Lua.
var library = []string{"/usr/local/share/lua/5.1", "/usr/share/lua/5.1"}

// readFile opens a file that the script names.
func (m *machine) readFile(name string) (*os.File, error) {
	real, err := m.found(name)
	if err == nil {
		err = m.inside(real, m.folder(), m.options.Results)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.Open(real)
}

// found is the path without links of a file that is named from the script's folder or the results.
func (m *machine) found(name string) (string, error) {
	folders := []string{m.folder(), m.options.Results}
	if filepath.IsAbs(name) {
		folders = []string{"/"}
	}
	var failed error
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		absolute, err := filepath.Abs(filepath.Join(folder, name))
		if err == nil {
			absolute, err = filepath.EvalSymlinks(absolute)
		}
		if err == nil {
			return absolute, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return "", unwrapped(failed)
}

// writeFile opens a file of the results.
func (m *machine) writeFile(name string, flags int) (*os.File, error) {
	if err := os.MkdirAll(m.options.Results, 0o755); err != nil {
		return nil, err
	}
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(m.options.Results, name)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err == nil {
		path = filepath.Join(folder, filepath.Base(path))
		err = m.inside(path, m.options.Results)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: unwrapped(err)}
	}
	return os.OpenFile(path, flags|unix.O_NOFOLLOW, 0o644)
}

// readModule reads a file for require(): also from the folders of LUA_PATH, and of the distribution.
func (m *machine) readModule(file string) (string, error) {
	real, err := filepath.Abs(file)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", err
	}
	folders := append([]string{m.folder(), m.options.Results}, library...)
	for pattern := range strings.SplitSeq(m.options.Env["LUA_PATH"], ";") {
		if before, _, is := strings.Cut(pattern, "?"); is {
			folders = append(folders, filepath.Dir(before))
		}
	}
	if err := m.inside(real, folders...); err != nil {
		return "", err
	}
	text, err := os.ReadFile(real)
	return string(text), err
}

func (m *machine) folder() string { return filepath.Dir(m.options.Path) }

// inside is an error for a path without links that is below none of the folders.
func (m *machine) inside(path string, folders ...string) error {
	for _, folder := range folders {
		absolute, err := filepath.Abs(folder)
		if err == nil && folder != "" {
			absolute, err = filepath.EvalSymlinks(absolute)
		}
		below, wrong := filepath.Rel(absolute, path)
		if folder != "" && err == nil && wrong == nil && filepath.IsLocal(below) {
			return nil
		}
	}
	return fmt.Errorf("a script reads its own folder (%s) and the results, and writes the results alone", m.folder())
}

// unwrapped is what went wrong, without the path.
func unwrapped(err error) error {
	if failed, is := err.(*fs.PathError); is {
		return failed.Err
	}
	return err
}
