package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/servertest"
)

func getenv(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

// output collects what a service writes while it runs.
type output struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.Buffer.Write(data)
}

func TestRequestsInFlightEndBeforeTheStop(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var closed []string
	definition := Definition{Start: func(_ context.Context, host *Host) error {
		host.HTTP = http.NewServeMux()
		host.HTTP.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
			close(entered)
			<-release
			_, _ = io.WriteString(w, "whole")
		})
		host.OnStop(func() { closed = append(closed, "first") })
		host.OnStop(func() { closed = append(closed, "second") })
		host.Background(func(ctx context.Context) { <-ctx.Done() })
		return nil
	}}
	address := servertest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	exit := make(chan int)
	var log output
	go func() {
		exit <- Run(ctx, "test/slow", definition, getenv(map[string]string{"STONE_LISTEN": address}), &log)
	}()
	body := make(chan string)
	go func() {
		for {
			answer, err := http.Get("http://" + address + "/slow")
			if err != nil {
				time.Sleep(10 * time.Millisecond) // not listening yet
				continue
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			body <- fmt.Sprint(string(text), err)
			return
		}
	}()
	<-entered
	stop()
	for refused := false; !refused; {
		connection, err := net.Dial("tcp", address)
		if refused = err != nil; !refused {
			connection.Close()
			time.Sleep(time.Millisecond)
		}
	}
	close(release)
	if got := <-body; got != "whole<nil>" {
		t.Errorf("request in flight got %s", got)
	}
	if code := <-exit; code != Done {
		t.Errorf("exit %d, log %s", code, log.String())
	}
	if strings.Join(closed, " ") != "second first" {
		t.Errorf("closed %v", closed)
	}
}

func TestGRPCHealthFollowsReadiness(t *testing.T) {
	var ready sync.Mutex
	met := false
	definition := Definition{Start: func(_ context.Context, host *Host) error {
		host.Health.Need("data", func(context.Context) error {
			ready.Lock()
			defer ready.Unlock()
			if !met {
				return fmt.Errorf("not yet")
			}
			return nil
		})
		return nil
	}}
	address, admin := servertest.FreeAddress(t), servertest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	exit := make(chan int)
	go func() {
		exit <- Run(ctx, "test/rpc", definition, getenv(map[string]string{"STONE_LISTEN": address, "STONE_ADMIN": admin}), io.Discard)
	}()
	// A client of package rpc would not call a service that says that it is not ready.
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	status := func() string {
		answer, err := grpc_health_v1.NewHealthClient(connection).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		return answer.GetStatus().String() + fmt.Sprint(err)
	}
	waitFor(t, "NOT_SERVING<nil>", status)
	waitFor(t, "503", func() string { return httpStatus("http://" + admin + "/readyz") })
	ready.Lock()
	met = true
	ready.Unlock()
	waitFor(t, "SERVING<nil>", status)
	waitFor(t, "200", func() string { return httpStatus("http://" + admin + "/readyz") })
	stop()
	if code := <-exit; code != Done {
		t.Errorf("exit %d", code)
	}
}

func httpStatus(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	return fmt.Sprint(answer.StatusCode)
}

func waitFor(t *testing.T, want string, get func() string) {
	t.Helper()
	got := get()
	for deadline := time.Now().Add(30 * time.Second); got != want; got = get() {
		if time.Now().After(deadline) {
			t.Fatalf("want %s, still %s", want, got)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	nothing := func(context.Context, *Host) error { return nil }
	for _, one := range []struct {
		name       string
		definition Definition
		variables  map[string]string
		code       int
		says       string
	}{
		{"missing variable", Definition{Start: nothing}, nil, BadInput, "STONE_LISTEN"},
		{"missing need", Definition{Start: nothing, Wants: config.Wants{Needs: []string{"geo"}}},
			map[string]string{"STONE_LISTEN": "127.0.0.1:0"}, BadInput, "STONE_NEED_GEO"},
		{"start fails", Definition{Start: func(context.Context, *Host) error { return fmt.Errorf("bad store") }},
			map[string]string{"STONE_LISTEN": "127.0.0.1:0"}, BadInput, "bad store"},
		{"port taken", Definition{Start: nothing},
			map[string]string{"STONE_LISTEN": taken.Addr().String()}, Unexpected, "address already in use"},
		{"admin port taken", Definition{Start: nothing},
			map[string]string{"STONE_LISTEN": "127.0.0.1:0", "STONE_ADMIN": taken.Addr().String()}, Unexpected, "STONE_ADMIN"},
	} {
		var stderr output
		code := Run(t.Context(), "test/x", one.definition, getenv(one.variables), &stderr)
		if code != one.code || !strings.Contains(stderr.String(), one.says) {
			t.Errorf("%s: exit %d, stderr %q", one.name, code, stderr.String())
		}
	}
}
