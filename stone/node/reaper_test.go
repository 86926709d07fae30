package node

import "testing"

// A process is never listed as ended without how it ended, and a new one never has the end of the one before it.
func TestHowAProcessEndedIsListedAtOnce(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state, "--cgroup", noGroups)
	deploy(t, c, state, "hotel")
	for range 30 {
		for _, argv := range [][]string{{"sh", "-c", "exit 7"}, {"sleep", "1000"}} {
			c.must("spawn", m{"deployment": "hotel", "name": "geo", "argv": argv}, nil)
			if argv[0] == "sleep" {
				c.must("stop", m{"deployment": "hotel", "names": []string{"geo"}, "signal": "TERM", "grace_s": 60}, nil)
			}
			geo := only(t, c, "hotel")
			for geo.Alive {
				geo = only(t, c, "hotel")
			}
			exited := geo.ExitCode != nil && *geo.ExitCode == 7 && geo.Signal == ""
			if signaled := geo.ExitCode == nil && geo.Signal == "SIGTERM"; (argv[0] == "sh") != exited || (argv[0] == "sleep") != signaled {
				t.Fatalf("%q: %+v", argv, geo)
			}
		}
	}
}
