package node

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// noGroups is where no control groups are mounted.
const noGroups = "/no/such/mounts"

// Without control groups, too, what a process has left behind ends with its deployment.
func TestChildrenOfAProcessThatEndedAreKilled(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state, "--cgroup", noGroups)
	deploy(t, c, state, "hotel")
	c.must("spawn", m{"deployment": "hotel", "name": "geo", "argv": []string{"sh", "-c", "sleep 1000 & echo $!"}}, nil)
	child := ""
	eventually(t, "it has ended", func() bool {
		child = string(c.must("log", m{"deployment": "hotel", "name": "geo", "lines": 1, "most_bytes": 100}, nil))
		return child != "" && !only(t, c, "hotel").Alive
	})
	ended := Ended{}
	c.must("end", m{"deployment": "hotel"}, &ended)
	if len(ended.Running) > 0 {
		t.Errorf("%+v", ended)
	}
	gone(t, child)
}

// locked holds a deployment as a node does that is ending it; the function removes the deployment and lets it go.
func locked(t *testing.T, state, name string) (removed func()) {
	t.Helper()
	entry := &journaled{at: filepath.Join(state, "deployments", name)}
	unlock, err := lock(t.Context(), entry.at, unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := entry.remove(); err != nil {
			t.Error(err)
		}
		unlock()
	}
}

func TestADeploymentThatAnotherNodeEndsHasEnded(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state, "--cgroup", noGroups)
	deploy(t, c, state, "hotel")
	removed := locked(t, state, "hotel")
	id := c.send("end", m{"deployment": "hotel"}, nil)
	time.Sleep(100 * time.Millisecond) // it waits by now; where it does not yet, the test proves nothing and passes
	removed()
	if one := c.next(); *one.ID != id || one.Error != nil {
		t.Errorf("%+v", one.Error)
	}
}

func TestADeploymentThatIsEndingIsBegunAnew(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state, "--cgroup", noGroups)
	deploy(t, c, state, "hotel")
	removed := locked(t, state, "hotel")
	c.send("begin", m{"deployment": "hotel", "digest": "d1", "owner": "tester"}, nil)
	time.Sleep(100 * time.Millisecond) // as above
	removed()
	if one := c.next(); one.Error != nil {
		t.Fatalf("%+v", one.Error)
	}
	c.must("spawn", m{"deployment": "hotel", "name": "geo", "argv": []string{"true"}}, nil)
}
