package node

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// A spawner records the ends of its processes while the deployment is being removed.
func TestRemovalIsNotHinderedByRecordsOfEnds(t *testing.T) {
	for range 20 {
		j := &journaled{at: t.TempDir()}
		if err := errors.Join(os.MkdirAll(j.process("a"), 0o700), saveJSON(filepath.Join(j.at, "deployment.json"), j)); err != nil {
			t.Fatal(err)
		}
		started, recorded := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(recorded)
			for i := 0; i < 1000 && saveJSON(filepath.Join(j.process("a"), strconv.Itoa(i)), ended{}) == nil; i++ {
				if i == 20 {
					close(started)
				}
			}
		}()
		<-started
		if err := j.remove(); err != nil {
			t.Error(err)
		}
		<-recorded
	}
}
