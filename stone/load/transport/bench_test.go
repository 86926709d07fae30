package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	hotelpb "loadstone.dev/stone/apps/hotel/proto"
)

// What a call costs the client, beside the standard clients: net/http's, and for gRPC the generated one.
// The server is a process of its own (this program again), so that cpu-us/op is the client's alone:
//
//	go test ./load/transport -run '^$' -bench . -benchtime 20000x
//
// `streams` calls are under way at a time: over one connection, for HTTP/1.1 over as many.
const streams = 8

func BenchmarkTransport(b *testing.B) {
	ca := newAuthority(b)
	for _, k := range append(slices.Clone(kinds), kind{"grpc", GRPC, "http"}) {
		b.Run(k.name, func(b *testing.B) {
			address := startBenchmarkServer(b, k, ca)
			b.Run("ours", func(b *testing.B) { measure(b, ours(b, k, ca, address)) })
			b.Run("peer", func(b *testing.B) { measure(b, peer(b, k, ca, address)) })
		})
	}
}

// measure makes b.N calls and reports the CPU that they took.
func measure(b *testing.B, clients []func(context.Context) error) {
	for _, client := range clients {
		if err := client(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu()
	var group sync.WaitGroup
	for i, client := range clients {
		calls := (b.N + i) / len(clients)
		group.Go(func() {
			for range calls {
				ctx, cancel := context.WithTimeout(b.Context(), patience)
				if err := client(ctx); err != nil {
					b.Error(err)
				}
				cancel()
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
}

func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// ours are the clients that this package makes, with the settings of a load that does not read answers.
func ours(b *testing.B, k kind, ca *authority, address string) (clients []func(context.Context) error) {
	settings := Settings{Protocol: k.protocol, Target: k.scheme + "://" + address, Timeout: patience, Limit: 200}
	request := get("/hotels?lat=1.5&lon=2")
	if k.protocol == GRPC {
		settings.Limit, settings.Descriptors, request = 0, descriptors(b), render("POST", nearby, `{"lat": 1.5, "lon": 2}`)
	}
	if k.scheme == "https" {
		settings.TLS.CA = ca.file
	}
	d := dialer(b, settings)
	var caller Caller
	for i := range streams {
		if i == 0 || k.protocol == HTTP1 {
			var err error
			if caller, err = d.Dial(b.Context(), address); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = caller.Close() })
		}
		own := caller
		clients = append(clients, func(ctx context.Context) error {
			_, err := own.Call(ctx, request)
			return err
		})
	}
	return clients
}

func peer(b *testing.B, k kind, ca *authority, address string) (clients []func(context.Context) error) {
	call := peerHTTP(b, k, ca, address)
	if k.protocol == GRPC {
		call = peerGRPC(b, address)
	}
	for range streams {
		clients = append(clients, call)
	}
	return clients
}

func peerHTTP(b *testing.B, k kind, ca *authority, address string) func(context.Context) error {
	transport := &http.Transport{MaxConnsPerHost: streams, MaxIdleConnsPerHost: streams, DisableCompression: true, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(k.protocol == HTTP1)
	transport.Protocols.SetHTTP2(k.name == "h2")
	transport.Protocols.SetUnencryptedHTTP2(k.name == "h2c")
	transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	transport.TLSClientConfig.RootCAs.AddCert(ca.cert)
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.scheme+"://"+address+"/hotels?lat=1.5&lon=2", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
}

func peerGRPC(b *testing.B, address string) func(context.Context) error {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	client := hotelpb.NewSearchClient(conn)
	return func(ctx context.Context) error {
		_, err := client.Nearby(ctx, &hotelpb.SearchRequest{Lat: 1.5, Lon: 2})
		return err
	}
}

// benchmarkServer tells this program that it is the server of a benchmark, and of which kind.
const benchmarkServer = "TRANSPORT_BENCHMARK_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(benchmarkServer); name != "" {
		serveBenchmark(name)
		return
	}
	os.Exit(m.Run())
}

// startBenchmarkServer starts it in a process of its own; it ends with its standard input.
func startBenchmarkServer(b *testing.B, k kind, ca *authority) string {
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), benchmarkServer+"="+k.name)
	server.Stderr = os.Stderr
	input, _ := server.StdinPipe()
	output, _ := server.StdoutPipe()
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = input.Close(); _ = server.Wait() })
	certificate, key := ca.files(b)
	fmt.Fprintln(input, certificate, key)
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func serveBenchmark(name string) {
	var certificate, key string
	_, _ = fmt.Scanln(&certificate, &key)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	if name == "grpc" {
		server := grpc.NewServer()
		hotelpb.RegisterSearchServer(server, &search{answer: func(context.Context, *hotelpb.SearchRequest) (*hotelpb.HotelIds, error) {
			return &hotelpb.HotelIds{HotelIds: []string{"1", "2"}}, nil
		}})
		go func() { _ = server.Serve(listener) }()
	} else {
		server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ok")
		})}
		server.Protocols.SetHTTP1(true)
		server.Protocols.SetHTTP2(true)
		server.Protocols.SetUnencryptedHTTP2(true)
		if name == "h2" || strings.Contains(name, "TLS") {
			go func() { _ = server.ServeTLS(listener, certificate, key) }()
		} else {
			go func() { _ = server.Serve(listener) }()
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}
