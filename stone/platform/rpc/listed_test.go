package rpc

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replaceFile puts a new file in another's place, as those do who render templates.
func replaceFile(t *testing.T, file, text string) {
	t.Helper()
	write(t, file+".new", text)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// share waits until each of the replicas gets every n-th of n calls, and the others none.
func share(t *testing.T, client grpc_health_v1.HealthClient, some []*replica, others ...*replica) {
	t.Helper()
	sum := func(all []*replica) (calls int64) {
		for _, one := range all {
			calls += one.calls.Load()
		}
		return calls
	}
	eventually(t, "the listed replicas share the calls", func() bool {
		before := make([]int64, len(some))
		for i, one := range some {
			before[i] = one.calls.Load()
		}
		toOthers := sum(others)
		for range some {
			if _, err := client.Check(t.Context(), nil); err != nil {
				return false
			}
		}
		for i, one := range some {
			if one.calls.Load() != before[i]+1 {
				return false
			}
		}
		return sum(others) == toOthers
	})
}

func TestAFileListsReplicas(t *testing.T) {
	a, _, addressA := start(t, "127.0.0.1:0", good)
	b, _, addressB := start(t, "127.0.0.1:0", good)
	file := filepath.Join(t.TempDir(), "need-geo")
	connection, client := dial(t, "file:"+file)
	none := func() bool {
		_, err := client.Check(t.Context(), nil)
		return status.Code(err) == codes.Unavailable && Connected(connection)(t.Context()) != nil
	}
	if !none() {
		t.Error("a file that is not there lists something")
	}

	write(t, file, addressA+"\n")
	share(t, client, []*replica{a}, b)
	write(t, file, addressA+", "+addressB+"\n")
	share(t, client, []*replica{a, b})
	replaceFile(t, file, addressB)
	share(t, client, []*replica{b}, a)
	write(t, file, "")
	eventually(t, "an emptied file lists no server", none)
	replaceFile(t, file, addressA)
	share(t, client, []*replica{a}, b)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a file that went away lists no server", none)
}

func TestAListThatMakesNoSenseChangesNothing(t *testing.T) {
	a, _, addressA := start(t, "127.0.0.1:0", good)
	b, _, addressB := start(t, "127.0.0.1:0", good)
	file := filepath.Join(t.TempDir(), "need-geo")
	write(t, file, addressA)
	_, client := dial(t, "file:"+file)
	share(t, client, []*replica{a}, b)
	write(t, file, addressB+",nonsense")
	for until := time.Now().Add(2 * lookInterval); time.Now().Before(until); {
		share(t, client, []*replica{a}, b)
	}
	write(t, file, addressB)
	share(t, client, []*replica{b}, a)
}

func TestAListThatNeverMadeSenseIsTheErrorOfCalls(t *testing.T) {
	folder := t.TempDir()
	wrong := filepath.Join(folder, "wrong")
	write(t, wrong, "10.0.0.1")
	for file, complaint := range map[string]string{
		wrong:  `list of replicas ` + wrong + `: "10.0.0.1" is not host:port`,
		folder: "list of replicas: read " + folder + ": is a directory",
	} {
		_, client := dial(t, "file:"+file)
		if _, err := client.Check(t.Context(), nil); err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s: error %v, want one with %q", file, err, complaint)
		}
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("10.0.0.1:8083,10.0.0.2:8083\n")
	f.Add("[::1]:80 host:1\n\n,")
	f.Add("a:0,:1,b:65536")
	f.Fuzz(func(t *testing.T, text string) {
		addresses, err := parseList(text)
		if err != nil {
			return
		}
		for _, address := range addresses {
			host, port, err := net.SplitHostPort(address)
			if err != nil || host == "" || port == "" || port == "0" || !strings.Contains(text, address) {
				t.Errorf("%q lists %q", text, address)
			}
		}
		again, err := parseList(strings.Join(addresses, ","))
		if err != nil || len(again) != len(addresses) {
			t.Errorf("%q lists %q, those %q (%v)", text, addresses, again, err)
		}
	})
}
