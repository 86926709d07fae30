package ready

import "os"

// memory is where a check remembers that the one before it succeeded: a folder that every user of a container may write
// to, empty when the container starts.
const memory = "/dev/shm/stone-ready"

// wasReady says whether the last check with these targets succeeded.
func (c check) wasReady() bool {
	_, err := os.Stat(c.note())
	return err == nil
}

// remember notes how this check ended. Where the folder is not writable, each check queries at once.
func (c check) remember(ready bool) {
	if c.pace == 0 {
		return
	}
	if !ready {
		_ = os.Remove(c.note())
	} else if file, err := os.OpenFile(c.note(), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = file.Close()
	}
}

// note is the name of the file, one for each set of targets.
func (c check) note() string {
	name := memory
	for _, target := range c.targets {
		name += "-" + target.host
	}
	return name
}
