package rpc

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func order(t *testing.T, turns *Turns) string {
	t.Helper()
	found, err := turns.Order()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func TestReplicasAreTriedInTurnThoseThatRefusedLast(t *testing.T) {
	var given []string
	know := func(addresses []string) { given = addresses }
	turns, err := TakeTurns("user", know, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
	if err != nil {
		t.Fatal(err)
	}
	defer turns.Close()
	if !slices.Equal(given, []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}) {
		t.Errorf("given %v", given)
	}
	turns.know([]string{"a", "b", "c"})
	for _, want := range []string{"b c a", "c a b", "a b c", "b c a"} {
		if got := order(t, turns); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	turns.Refused("c")
	if until := turns.last["c"]; until.IsZero() {
		t.Error("a refusal is forgotten")
	}
	turns.last["c"] = time.Now().Add(time.Hour)
	for _, want := range []string{"a b c", "a b c", "b a c"} {
		if got := order(t, turns); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	turns.last["c"] = time.Now().Add(-time.Second)
	if got := order(t, turns); got != "c a b" || len(turns.last) > 0 {
		t.Errorf("%s, with %v", got, turns.last)
	}
	turns.know([]string{"a"})
	turns.Refused("a")
	if got := order(t, turns); got != "a" { // there is no other
		t.Error(got)
	}
	turns.know(nil)
	if _, err := turns.Order(); err == nil || !strings.Contains(err.Error(), "user: no replica is known: none is listed") {
		t.Error(err)
	}
}
