package node

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachinesThatShareAHomeHaveTheirOwnState(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	folder := func(id string) string {
		file := filepath.Join(t.TempDir(), "machine-id")
		if err := os.WriteFile(file, []byte(id), 0o600); err != nil {
			t.Fatal(err)
		}
		return homeState(file)
	}
	// sha256sum of the identity, as tests/infrastructure/test_identity.py has it
	first, other := folder("0123456789abcdef0123456789abcdef\n"), folder("fedcba9876543210fedcba9876543210\n")
	if expected := home + "/.local/state/loadstone/node/3eb1bd43"; first != expected || other == first {
		t.Errorf("%s, %s", first, other)
	}
	t.Setenv("XDG_STATE_HOME", home+"/states")
	if named := homeState("/no/machine-id"); filepath.Dir(named) != home+"/states/loadstone/node" || named != folder("") {
		t.Error(named)
	}
}
