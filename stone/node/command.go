package node

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// defaultPath is the PATH of commands where neither the client nor the login gives one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is what a command gets: what the client gives, and of ours nothing but the PATH.
func environment(given map[string]string) map[string]string {
	all := map[string]string{"PATH": cmp.Or(os.Getenv("PATH"), defaultPath), "LANG": "C.UTF-8"}
	maps.Copy(all, given)
	return all
}

func pairs(environment map[string]string) []string {
	list := make([]string, 0, len(environment))
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		list = append(list, name+"="+environment[name])
	}
	return list
}

func checkCommand(argv []string, environment map[string]string, folder string) error {
	if len(argv) == 0 || argv[0] == "" {
		return faultf(Input, "argv is empty")
	}
	for _, text := range slices.Concat(argv, pairs(environment), []string{folder}) {
		if strings.ContainsRune(text, 0) {
			return faultf(Input, "%.80q holds a zero byte", text)
		}
	}
	for name := range environment {
		if name == "" || strings.Contains(name, "=") {
			return faultf(Input, "%.80q is no name of a variable", name)
		}
	}
	if folder != "" && !filepath.IsAbs(folder) {
		return faultf(Input, "folder %.200q is not absolute", folder)
	}
	if _, err := os.Stat(cmp.Or(folder, "/")); err != nil {
		return err
	}
	return nil
}

// program finds the file to execute, as a shell would with the command's own PATH.
func program(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); filepath.IsAbs(name) && err != nil {
			return "", err
		}
		return name, nil
	}
	for _, folder := range filepath.SplitList(path) {
		found, err := exec.LookPath(filepath.Join(cmp.Or(folder, "."), name))
		if err == nil || errors.Is(err, exec.ErrDot) {
			return found, nil
		}
	}
	return "", faultf(Missing, "no program %.200q in %s", name, path).with("install it, or give its path")
}

// credential is a user to become. Nil without a name, and where we are not root: the login decides then.
func credential(name string) (*syscall.Credential, error) {
	if name == "" || os.Geteuid() != 0 {
		return nil, nil
	}
	if number, err := strconv.ParseUint(name, 10, 32); err == nil { // the uid of a deployment; no account has it
		return &syscall.Credential{Uid: uint32(number), Gid: uint32(number)}, nil
	}
	account, err := user.Lookup(name)
	if err != nil {
		return nil, faultf(Input, "no user %.80q on this machine", name).with("make that user, or give another")
	}
	ids, err := account.GroupIds()
	if err != nil {
		return nil, err
	}
	uid, wrongUser := strconv.ParseUint(account.Uid, 10, 32)
	gid, wrongGroup := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(wrongUser, wrongGroup); err != nil {
		return nil, err
	}
	found := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	for _, id := range ids {
		if number, err := strconv.ParseUint(id, 10, 32); err == nil {
			found.Groups = append(found.Groups, uint32(number))
		}
	}
	return found, nil
}

// becomes changes this process to a user.
func becomes(as *syscall.Credential) error {
	groups := make([]int, len(as.Groups))
	for i, group := range as.Groups {
		groups[i] = int(group)
	}
	for _, step := range []func() error{
		func() error { return syscall.Setgroups(groups) },
		func() error { return syscall.Setgid(int(as.Gid)) },
		func() error { return syscall.Setuid(int(as.Uid)) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("cannot become user %d: %w", as.Uid, err)
		}
	}
	return nil
}
