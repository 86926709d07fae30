package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/node/groups"
)

type spawnArgs struct {
	Deployment string            `json:"deployment"`
	Name       string            `json:"name"`
	Argv       []string          `json:"argv"`
	Env        map[string]string `json:"env"`
	Folder     string            `json:"folder"`
	User       string            `json:"user"`
	Limits     groups.Limits     `json:"limits"`
	Groups     []string          `json:"groups"` // made below its own group; the process is in the first of them
	Files      map[string]string `json:"files"`  // text by path below the folder
}

// Spawned is a process: Started, in ticks since boot, tells it from a later one of the same id.
type Spawned struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
}

// spawn starts a process that outlives the channel, in a session and (where there are any) a control group of its own.
// Its output goes to its log. The answer comes when it has become the program, or could not.
func (n *Node) spawn(ctx context.Context, _ *call, args spawnArgs) (answer, error) {
	entry, err := n.find(args.Deployment)
	if err != nil {
		return answer{}, err
	}
	if err := errors.Join(checkName("process", args.Name), checkCommand(args.Argv, args.Env, args.Folder)); err != nil {
		return answer{}, err
	}
	unlock, err := lock(ctx, entry.at, unix.LOCK_SH)
	if err != nil {
		return answer{}, err
	}
	defer unlock()
	if err := makeFolder(entry.process(args.Name)); err != nil {
		return answer{}, err
	}
	mine, err := lock(ctx, entry.process(args.Name), unix.LOCK_EX)
	if err != nil {
		return answer{}, err
	}
	defer mine()
	if running, alive := n.identity(entry, args.Name); alive {
		return answer{}, faultf(Refused, "%s of %s runs already, with process id %d", args.Name, entry.Deployment, running.PID).
			with("stop it first")
	}
	wanted, err := n.prepare(entry, args)
	if err != nil {
		return answer{}, err
	}
	n.reaper.await(entry.ended(args.Name)) // it would be that of the new process otherwise
	if err := errors.Join(removeIfThere(entry.record(args.Name)), removeIfThere(entry.ended(args.Name))); err != nil {
		return answer{}, err
	}
	command, err := n.launch(entry.log(args.Name), wanted)
	if err != nil {
		return answer{}, err
	}
	n.reaper.reap(command, entry.ended(args.Name))
	spawned, _ := n.identity(entry, args.Name)
	return answer{value: Spawned{command.Process.Pid, spawned.Started}}, nil
}

// prepare makes what a process needs: its folder, its files, its control group.
func (n *Node) prepare(entry *journaled, args spawnArgs) (become, error) {
	environment := environment(args.Env)
	path, err := program(args.Argv[0], environment["PATH"])
	if err != nil {
		return become{}, err
	}
	as, err := credential(args.User)
	if err != nil {
		return become{}, err
	}
	boot, err := n.boot()
	if err != nil {
		return become{}, err
	}
	folder := cmp.Or(args.Folder, "/")
	for name, text := range args.Files {
		if err := putText(folder, name, text, as); err != nil {
			return become{}, err
		}
	}
	wanted := become{
		Record: entry.record(args.Name), Boot: boot, Credential: as,
		Folder: folder, Path: path, Argv: args.Argv, Env: pairs(environment),
	}
	group := entry.group(args.Name)
	if group == "" {
		wanted.Cores = args.Limits.Cores
		return wanted, nil
	}
	if err := n.groups.Make(group, args.Limits); err != nil {
		return become{}, err
	}
	for _, name := range args.Groups {
		if err := errors.Join(checkName("group", name), n.groups.Open(group+"/"+name)); err != nil {
			return become{}, err
		}
	}
	if len(args.Groups) > 0 {
		group += "/" + args.Groups[0]
	}
	wanted.Join = n.groups.Joining(group)
	return wanted, nil
}

// putText writes a file that its process alone may read. What lies in the folder may be the work of another user, so
// nothing is followed that leads out of it, and what has the file's name makes room.
func putText(folder, name, text string, as *syscall.Credential) error {
	if !filepath.IsLocal(name) || folder == "/" {
		return faultf(Input, "file %.200q is not below the folder %s", name, folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if as != nil {
		err = cmp.Or(err, file.Chown(int(as.Uid), int(as.Gid)))
	}
	return cmp.Or(err, file.Close())
}

// launch starts this program, which becomes what is wanted.
func (n *Node) launch(logPath string, wanted become) (*exec.Cmd, error) {
	log, err := os.OpenFile(logPath, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	orders, send, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer orders.Close()
	complaints, complain, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, send.Close())
	}
	defer complaints.Close()
	command := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"stone", "node", BecomeVerb}, Env: []string{"GOMAXPROCS=1"}, Dir: "/",
		Stdout: log, Stderr: log, ExtraFiles: []*os.File{orders, complain},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = n.forker.start(command, nil)
	_ = complain.Close()
	if err != nil {
		return nil, errors.Join(err, send.Close())
	}
	sent := errors.Join(json.NewEncoder(send).Encode(wanted), send.Close())
	complaint, err := io.ReadAll(complaints)
	err = errors.Join(sent, err)
	if len(complaint) > 0 {
		err = faultf(Failed, "%s cannot be started: %s", wanted.Argv[0], complaint)
	}
	if err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return nil, err
	}
	return command, nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
