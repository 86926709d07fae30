package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	hotelpb "loadstone.dev/stone/apps/hotel/proto"
)

// search is the hotel application's Search with an answer that a test decides.
type search struct {
	hotelpb.UnimplementedSearchServer
	answer func(context.Context, *hotelpb.SearchRequest) (*hotelpb.HotelIds, error)
}

func (s *search) Nearby(ctx context.Context, r *hotelpb.SearchRequest) (*hotelpb.HotelIds, error) {
	return s.answer(ctx, r)
}

// mirror answers with the request.
func mirror(ctx context.Context, r *hotelpb.SearchRequest) (*hotelpb.HotelIds, error) {
	given, _ := metadata.FromIncomingContext(ctx)
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-seen", "yes"))
	_ = grpc.SetTrailer(ctx, metadata.Pairs("x-cost", "7"))
	return &hotelpb.HotelIds{HotelIds: []string{fmt.Sprint(r.Lat, " ", r.Lon, " ", r.InDate),
		fmt.Sprint(given["x-token"], given["x-raw-bin"], given[":authority"], given["content-length"], given["host"], given["x-upper"])}}, nil
}

var (
	nearby  = "/hotel.Search/Nearby"
	bothWay = []string{"v1 and v1alpha", "v1alpha", "none"}
)

// rpcSite is a gRPC server with the settings to reach it.
func rpcSite(t testing.TB, scheme, telling string, answer func(context.Context, *hotelpb.SearchRequest) (*hotelpb.HotelIds, error), options ...grpc.ServerOption) *site {
	t.Helper()
	s := &site{counted: listen(t)}
	s.settings = Settings{Protocol: GRPC, Target: scheme + "://" + s.address(), Timeout: patience, Limit: 1 << 20}
	if scheme == "https" {
		ca := newAuthority(t)
		certificate := ca.good(t)
		s.settings.TLS.CA = ca.file
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	}
	server := grpc.NewServer(options...)
	hotelpb.RegisterSearchServer(server, &search{answer: answer})
	grpc_testing.RegisterTestServiceServer(server, grpc_testing.UnimplementedTestServiceServer{}) // streams, and imports files
	switch telling {
	case bothWay[0]:
		reflection.Register(server)
	case bothWay[1]:
		grpc_reflection_v1alpha.RegisterServerReflectionServer(server, reflection.NewServer(reflection.ServerOptions{Services: server}))
	}
	s.group.Go(func() { _ = server.Serve(s) })
	t.Cleanup(server.Stop)
	return s
}

// descriptors writes a FileDescriptorSet of the hotel application.
func descriptors(t testing.TB) string {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(hotelpb.File_apps_hotel_proto_hotel_proto)}}
	text, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hotel.binpb")
	write(t, path, text)
	return path
}

// A message goes out as its JSON says, with its metadata, and the answer comes back as JSON.
func TestGRPC(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		for _, telling := range bothWay {
			t.Run(scheme+" "+telling, func(t *testing.T) {
				t.Parallel()
				site := rpcSite(t, scheme, telling, mirror)
				site.settings.Target = scheme + "://hotel.test"
				if scheme == "https" {
					site.settings.TLS.ServerName = "127.0.0.1"
				}
				if telling == "none" {
					site.settings.Descriptors = descriptors(t)
				}
				caller := site.dial(t)
				request := render("POST", nearby, `{"lat": 1.5, "lon": -2, "in_date": "2015-04-09"}`, "X-Token: a", "X-Token: b", "X-Raw-Bin: AAE=", "Connection: close")
				for range 2 {
					answer := ask(t, caller, request)
					var got struct{ HotelIds []string }
					if err := json.Unmarshal(answer.Body, &got); err != nil {
						t.Fatalf("%v: %s", err, answer.Body)
					}
					if want := []string{"1.5 -2 2015-04-09", "[a b] [\x00\x01] [hotel.test] [] [] []"}; !slices.Equal(got.HotelIds, want) {
						t.Errorf("%q, want %q", got.HotelIds, want)
					}
					if answer.Status != 200 || answer.Size == 0 || !strings.Contains(string(answer.Header), "x-seen: yes\r\n") ||
						!strings.Contains(string(answer.Header), "x-cost: 7\r\n") {
						t.Errorf("%+v", answer)
					}
				}
				if n := site.accepted(); n != 1 {
					t.Errorf("%d connections", n)
				}
			})
		}
	}
}

// Without anybody who looks at answers they are counted, not decoded.
func TestGRPCKeepsOnlyWhatIsWanted(t *testing.T) {
	t.Parallel()
	for limit, kept := range map[int64]string{0: "", 12: `{"hotelIds":`} {
		site := rpcSite(t, "http", bothWay[0], mirror)
		site.settings.Limit = limit
		answer := ask(t, site.dial(t), render("POST", nearby, "{}"))
		if string(answer.Body) != kept || answer.Size == 0 || (limit == 0) != (len(answer.Header) == 0) {
			t.Errorf("limit %d: %d bytes, kept %q, header %q", limit, answer.Size, answer.Body, answer.Header)
		}
	}
}

// A workload's gRPC requests are checked before the load: one message for each mistake.
func TestGRPCCheck(t *testing.T) {
	t.Parallel()
	site := rpcSite(t, "http", bothWay[0], mirror)
	d := dialer(t, site.settings)
	if err := d.Check(render("POST", nearby, "{}")); err == nil || err.Error() != nearby+": the server's methods are not known yet; connect first" {
		t.Error(err)
	}
	caller, err := d.Dial(t.Context(), site.address())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	for _, c := range []struct{ path, body, header, want string }{
		{nearby, "", "", ""},
		{nearby, `{"inDate": "2015-04-09"}`, "", ""},
		{"/hotel.Search/Nearbi", "{}", "", "/hotel.Search/Nearbi: no such method; hotel.Search has Nearby"},
		{"/hotel.Such/Nearby", "{}", "", "/hotel.Such/Nearby: no such method; there are the services grpc.reflection.v1.ServerReflection, " +
			"grpc.reflection.v1alpha.ServerReflection, grpc.testing.TestService, hotel.Search"},
		{"/", "{}", "", "/: no such method; there are the services grpc.reflection.v1.ServerReflection, " +
			"grpc.reflection.v1alpha.ServerReflection, grpc.testing.TestService, hotel.Search"},
		{"/grpc.testing.TestService/FullDuplexCall", "{}", "", "/grpc.testing.TestService/FullDuplexCall: a streaming method; " +
			"only methods that take one message and give one can be loaded"},
		{nearby, `{"city": "Dresden"}`, "", nearby + `: the body is no hotel.SearchRequest as JSON: *unknown field "city"`},
		{nearby, `{"lat": "north"}`, "", nearby + ": the body is no hotel.SearchRequest as JSON: *invalid value for float"},
		{nearby, `lat=1`, "", nearby + ": the body is no hotel.SearchRequest as JSON: *"},
		{nearby, "{}", "X-Raw-Bin: ?", nearby + `: header x-raw-bin: "?" is not base64, as headers that end in -bin are`},
	} {
		request := render("POST", c.path, c.body)
		if c.header != "" {
			request = render("POST", c.path, c.body, c.header)
		}
		err := d.Check(request)
		before, after, _ := strings.Cut(c.want, "*")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), before) || !strings.Contains(err.Error(), after)) {
			t.Errorf("%s %s: %v, want %s", c.path, c.body, err, c.want)
		}
		if _, failed := within(t, caller, patience, request); c.want != "" {
			expect(t, failed, noMessage)
		}
	}
	expect(t, d.Check([]byte("GET / HTTP/1.1\r\n")), noRequest)
}

// The kinds of failed calls are those of gRPC; the server's message is reported, and not counted.
func TestGRPCStatus(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	site := rpcSite(t, "http", bothWay[0], func(_ context.Context, r *hotelpb.SearchRequest) (*hotelpb.HotelIds, error) {
		return nil, status.Errorf(codes.Code(r.Lat), "no room %d", calls.Add(1))
	})
	caller := site.dial(t)
	for code, want := range map[codes.Code]Error{
		codes.Unavailable: "grpc Unavailable", codes.DeadlineExceeded: "grpc DeadlineExceeded", codes.NotFound: "grpc NotFound",
		codes.Internal: "grpc Internal", codes.Canceled: "grpc Canceled", codes.Code(99): "grpc Unknown",
	} {
		for range 2 {
			answer, err := within(t, caller, patience, render("POST", nearby, fmt.Sprintf(`{"lat": %d}`, code)))
			expect(t, err, want)
			if !strings.Contains(answer.Detail, fmt.Sprint("no room ", calls.Load())) {
				t.Errorf("%q", answer.Detail)
			}
		}
	}
	if calls.Load() != 12 {
		t.Errorf("%d calls: some were made again", calls.Load())
	}
}

func TestGRPCDeadlineAndClose(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	site := rpcSite(t, "http", bothWay[0], func(ctx context.Context, r *hotelpb.SearchRequest) (*hotelpb.HotelIds, error) {
		if r.Lat > 0 {
			arrived <- struct{}{}
			<-ctx.Done()
		}
		return &hotelpb.HotelIds{}, nil
	})
	caller := site.dial(t)
	_, err := within(t, caller, 100*time.Millisecond, render("POST", nearby, `{"lat": 1}`))
	expect(t, err, Timeout)
	ask(t, caller, render("POST", nearby, "{}"))
	for len(arrived) > 0 {
		<-arrived
	}
	failed := make(chan error)
	go func() {
		_, err := caller.Call(context.Background(), render("POST", nearby, `{"lat": 1}`))
		failed <- err
	}()
	<-arrived
	_ = caller.Close()
	expect(t, <-failed, "grpc Canceled")
}

// Calls share one connection; beyond the server's limit of streams they wait.
func TestGRPCStreams(t *testing.T) {
	t.Parallel()
	const calls, limit = 60, 3
	var busy, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	site := rpcSite(t, "http", bothWay[0], func(context.Context, *hotelpb.SearchRequest) (*hotelpb.HotelIds, error) {
		n := busy.Add(1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		if n == limit {
			once.Do(func() { close(full) })
		}
		<-full
		busy.Add(-1)
		return &hotelpb.HotelIds{}, nil
	}, grpc.MaxConcurrentStreams(limit))
	caller := site.dial(t)
	failures := make(chan error)
	for range calls {
		go func() {
			_, err := within(t, caller, patience, render("POST", nearby, "{}"))
			failures <- err
		}()
	}
	for range calls {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != limit || site.accepted() != 1 {
		t.Errorf("%d at a time, %d connections", most.Load(), site.accepted())
	}
}

// A server that goes away is the server's failure: each call says so.
func TestGRPCServerThatGoesAway(t *testing.T) {
	t.Parallel()
	site := rpcSite(t, "http", bothWay[0], mirror)
	caller := site.dial(t)
	ask(t, caller, render("POST", nearby, "{}"))
	site.stop()
	kinds := map[Error]int{}
	for range 10 { // the first may still have gone out over the old connection
		_, err := within(t, caller, patience, render("POST", nearby, "{}"))
		kinds[KindOf(err)]++
	}
	if refused := kinds["connect: connection refused"]; refused < 9 || refused+kinds["grpc Unavailable"] != 10 {
		t.Errorf("%v", kinds)
	}
}

// The methods are fetched once in a run, by the first caller.
func TestGRPCLearnsOnce(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int64
	site := rpcSite(t, "http", bothWay[0], mirror, grpc.StreamInterceptor(
		func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			arrived.Add(1)
			return handle(server, stream)
		}))
	d := dialer(t, site.settings)
	for range 5 {
		caller, err := d.Dial(t.Context(), site.address())
		if err != nil {
			t.Fatal(err)
		}
		ask(t, caller, render("POST", nearby, "{}"))
		_ = caller.Close()
	}
	if arrived.Load() != 1 {
		t.Errorf("called %d times", arrived.Load())
	}
}

func TestGRPCServersThatMisbehave(t *testing.T) {
	t.Parallel()
	silent := rpcSite(t, "http", "none", mirror)
	_, err := dialer(t, silent.settings).Dial(t.Context(), silent.address())
	expect(t, err, noReflection)

	answers := map[string]struct {
		text func(stream uint32) []byte
		want Error
	}{
		"closes":        {func(uint32) []byte { return nil }, "grpc Unavailable"},
		"resets":        {func(stream uint32) []byte { return frame(resetStream, 0, stream, number(2)...) }, "grpc Internal"},
		"is not gRPC":   {func(stream uint32) []byte { return ok2(stream, endStream) }, "grpc Unknown"},
		"not a message": {func(stream uint32) []byte { return message(stream, []byte{0xff}) }, badMessage},
		"a huge length": {func(stream uint32) []byte {
			return append(frame(headers, endHeaders, stream, goodHead...), frame(data, endStream, stream, append([]byte{0}, number(1<<31-1)...)...)...)
		}, "grpc ResourceExhausted"},
		"never answers": {func(uint32) []byte { return []byte{} }, Timeout},
	}
	for name, c := range answers {
		server := frames(t, func(stream uint32, _ int) []byte { return c.text(stream) })
		settings := plainly(GRPC, server)
		settings.Descriptors = descriptors(t)
		caller := dial(t, settings, server.address())
		limit := patience
		if c.want == Timeout {
			limit = 50 * time.Millisecond
		}
		answer, err := within(t, caller, limit, render("POST", nearby, "{}"))
		if KindOf(err) != c.want {
			t.Errorf("%s: %v (%s)", name, err, answer.Detail)
		}
	}
}

// goodHead is ":status 200, content-type: application/grpc" in HPACK.
var goodHead = append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)

// message is an answer of gRPC: head, message with its length before it, and trailers with grpc-status 0.
func message(stream uint32, text []byte) []byte {
	framed := append([]byte{0}, number(uint32(len(text)))...)
	trailer := append(append([]byte{0, 11}, "grpc-status"...), 1, '0')
	return slices.Concat(frame(headers, endHeaders, stream, goodHead...), frame(data, 0, stream, append(framed, text...)...),
		frame(headers, endHeaders|endStream, stream, trailer...))
}
