package thriftrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/thriftrpc"
)

// handler answers as its text says.
type handler struct {
	name    string
	entered chan struct{}
	release chan struct{}
}

func (h *handler) ComposeText(ctx context.Context, _ int64, text string, _ map[string]string) (*social.TextServiceReturn, error) {
	switch text {
	case "declared":
		return nil, &social.ServiceException{ErrorCode: social.ErrorCode_SE_NOT_FOUND, Message: "nobody"}
	case "undeclared":
		return nil, errors.New("store is down")
	case "panic":
		panic("out of ideas")
	case "deadline":
		deadline, set := ctx.Deadline()
		return &social.TextServiceReturn{Text: fmt.Sprint(set && time.Until(deadline) < 10*time.Second)}, nil
	case "slow":
		h.entered <- struct{}{}
		<-h.release
	}
	return &social.TextServiceReturn{Text: h.name + " " + text}, nil
}

type server struct {
	*handler
	*thriftrpc.Server
	address string
}

// start serves on an address until it is stopped or the test ends.
func start(t *testing.T, name, address string) *server {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	h := &handler{name, make(chan struct{}, 100), make(chan struct{})}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := &server{h, thriftrpc.NewServer(social.NewTextServiceProcessor(h), log), listener.Addr().String()}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop(0)
		if err := <-served; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return s
}

func dial(t *testing.T, addresses ...string) (*social.TextServiceClient, *thriftrpc.Client) {
	t.Helper()
	client, err := thriftrpc.Dial("text", addresses...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return social.NewTextServiceClient(client), client
}

func say(t *testing.T, client *social.TextServiceClient, text string) (string, error) {
	t.Helper()
	answer, err := client.ComposeText(t.Context(), 1, text, nil)
	if err != nil {
		return "", err
	}
	return answer.Text, nil
}

func TestErrorsReachTheCallerAndTheConnectionGoesOn(t *testing.T) {
	one := start(t, "one", "127.0.0.1:0")
	client, _ := dial(t, one.address)
	for range 3 {
		var declared *social.ServiceException
		if _, err := say(t, client, "declared"); !errors.As(err, &declared) || declared.ErrorCode != social.ErrorCode_SE_NOT_FOUND || declared.Message != "nobody" {
			t.Fatalf("declared: %v", err)
		}
		if _, err := say(t, client, "undeclared"); err == nil || !strings.Contains(err.Error(), "store is down") {
			t.Fatalf("undeclared: %v", err)
		}
		if _, err := say(t, client, "panic"); err == nil || !strings.Contains(err.Error(), "out of ideas") {
			t.Fatalf("panic: %v", err)
		}
		if text, err := say(t, client, "good"); text != "one good" {
			t.Fatalf("good: %q, %v", text, err)
		}
	}
}

func TestCallsGoToReplicasInTurn(t *testing.T) {
	a, b := start(t, "a", "127.0.0.1:0"), start(t, "b", "127.0.0.1:0")
	client, _ := dial(t, a.address, b.address)
	heard := map[string]int{}
	for range 10 {
		text, err := say(t, client, "x")
		if err != nil {
			t.Fatal(err)
		}
		heard[text]++
	}
	if heard["a x"] != 5 || heard["b x"] != 5 {
		t.Errorf("heard %v", heard)
	}
	a.Stop(0)
	for range 10 { // the connection that was kept is seen to be dead, and the next replica is tried
		if text, err := say(t, client, "y"); text != "b y" {
			t.Fatalf("%q, %v", text, err)
		}
	}
}

func TestAServerThatWasStartedAnewIsCalledAtOnce(t *testing.T) {
	old := start(t, "old", "127.0.0.1:0")
	client, state := dial(t, old.address)
	if text, err := say(t, client, "x"); text != "old x" {
		t.Fatalf("%q, %v", text, err)
	}
	old.Stop(0)
	if _, err := say(t, client, "x"); err == nil || !strings.Contains(err.Error(), "text: ") || !strings.Contains(err.Error(), "refused") {
		t.Fatalf("without a server: %v", err)
	}
	if state.Connected(t.Context()) == nil {
		t.Error("connected without a server")
	}
	start(t, "new", old.address)
	if text, err := say(t, client, "x"); text != "new x" {
		t.Fatalf("%q, %v", text, err)
	}
	if err := state.Connected(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCallsInFlightEndBeforeTheStop(t *testing.T) {
	one := start(t, "one", "127.0.0.1:0")
	client, _ := dial(t, one.address)
	const calls = 20
	answers := make(chan string, calls)
	var calling sync.WaitGroup
	for range calls {
		calling.Go(func() {
			text, err := say(t, client, "slow")
			answers <- fmt.Sprint(text, err)
		})
	}
	for range calls {
		<-one.entered
	}
	stopped := make(chan struct{})
	go func() { one.Stop(time.Hour); close(stopped) }()
	for refused := false; !refused; {
		connection, err := net.Dial("tcp", one.address)
		if refused = err != nil; !refused {
			connection.Close()
		}
	}
	close(one.release)
	calling.Wait()
	<-stopped
	for range calls {
		if got := <-answers; got != "one slow<nil>" {
			t.Errorf("a call in flight got %s", got)
		}
	}
}

func TestAStopDoesNotWaitForEver(t *testing.T) {
	one := start(t, "one", "127.0.0.1:0")
	client, _ := dial(t, one.address)
	failed := make(chan error)
	go func() {
		_, err := say(t, client, "slow")
		failed <- err
	}()
	<-one.entered
	stopped := make(chan struct{})
	go func() { one.Stop(time.Millisecond); close(stopped) }()
	if err := <-failed; err == nil {
		t.Error("a call that was cut off got an answer")
	}
	close(one.release)
	<-stopped
}

func TestAHandlerGivesUpBeforeItsCaller(t *testing.T) {
	client, _ := dial(t, start(t, "one", "127.0.0.1:0").address)
	if text, err := say(t, client, "deadline"); text != "true" || err != nil {
		t.Errorf("a deadline of less than 10 s: %q, %v", text, err)
	}
}

func TestACallEndsByItsDeadline(t *testing.T) {
	one := start(t, "one", "127.0.0.1:0")
	client, _ := dial(t, one.address)
	defer close(one.release)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client.ComposeText(ctx, 1, "slow", nil); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatListsReplicasIsFollowed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "replicas")
	one := start(t, "one", "127.0.0.1:0")
	client, _ := dial(t, "file:"+file)
	if _, err := say(t, client, "x"); err == nil || !strings.Contains(err.Error(), "no replica is known") {
		t.Errorf("without a list: %v", err)
	}
	if err := os.WriteFile(file, []byte(one.address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, err := say(t, client, "x")
		if text == "one x" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// One server and many callers: each gets the answer to its own call.
func TestAnswersFindTheirCallers(t *testing.T) {
	one := start(t, "one", "127.0.0.1:0")
	client, _ := dial(t, one.address)
	var calling sync.WaitGroup
	for caller := range 30 {
		calling.Go(func() {
			for call := range 50 {
				want := fmt.Sprintf("%d/%d", caller, call)
				if text, err := say(t, client, want); text != "one "+want {
					t.Errorf("%s got %q, %v", want, text, err)
					return
				}
			}
		})
	}
	calling.Wait()
}

func TestAFrameThatIsTooLargeIsRefused(t *testing.T) {
	one := start(t, "one", "127.0.0.1:0")
	connection, err := net.Dial("tcp", one.address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte{0x7f, 0xff, 0xff, 0xff, 0x80, 0x01}); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("got an answer: %v", err)
	}
}
