package node

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// DefaultState is the default folder of a machine's journal.
func DefaultState() string {
	if given := os.Getenv("LOADSTONE_HOST_STATE"); given != "" {
		return given
	}
	if os.Geteuid() == 0 {
		return "/var/lib/loadstone"
	}
	return homeState("/etc/machine-id")
}

// homeState is a folder of this machine alone: machines may share a home folder, as that of a file server.
func homeState(machineFile string) string {
	states := os.Getenv("XDG_STATE_HOME")
	if states == "" {
		states = os.Getenv("HOME") + "/.local/state"
	}
	return filepath.Join(states, "loadstone", "node", machineID(machineFile))
}

// machineID is eight hexadecimal digits of this machine's identity, machine-id(5); of its name where it has none. They are
// those of loadstone/infrastructure/identity.py.
func machineID(file string) string {
	text, _ := os.ReadFile(file) // empty where it cannot be read
	known := strings.TrimSpace(string(text))
	if known == "" {
		known, _ = os.Hostname()
	}
	sum := sha256.Sum256([]byte(known))
	return hex.EncodeToString(sum[:4])
}
