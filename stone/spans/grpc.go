package spans

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // senders may compress
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Metadata (or headers of HTTP) by which a sender tells about itself: its name, and how many spans its process has
// ended and given up so far.
const (
	InstanceKey = "stone-instance"
	ProducedKey = "stone-spans-produced"
	DroppedKey  = "stone-spans-dropped"
)

const (
	exportService = "opentelemetry.proto.collector.trace.v1.TraceService"
	exportMethod  = "Export"
	exportPath    = "/" + exportService + "/" + exportMethod

	mostRequestBytes = 64 << 20 // size of a request, unpacked
	mostStreams      = 8        // requests at a time on a connection
	window           = 256 << 10
	comeAgain        = time.Second // when to try refused spans again
)

// message is the bytes of a message of gRPC, as they come and go.
type message struct{ bytes mem.Buffer }

// wireCodec leaves messages as they are. The bytes of a received one are its receiver's, to be freed.
type wireCodec struct{}

func (wireCodec) Name() string { return "proto" }

func (wireCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	return mem.BufferSlice{m.bytes}, nil
}

func (wireCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	m.bytes = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

// grpcServer makes a server that takes spans for the recorder.
func grpcServer(to *Recorder) *grpc.Server {
	server := grpc.NewServer(
		grpc.ForceServerCodecV2(wireCodec{}), grpc.MaxRecvMsgSize(mostRequestBytes), grpc.MaxConcurrentStreams(mostStreams),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(2*window), grpc.ConnectionTimeout(10*time.Second),
		grpc.StatsHandler(packed{to}),
	)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: exportService,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: exportMethod, Handler: export}},
		Metadata:    "opentelemetry/proto/collector/trace/v1/trace_service.proto",
	}, to)
	return server
}

func export(server any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	to, from := server.(*Recorder), senderOf(ctx)
	var request message
	if err := decode(&request); err != nil { // too large, or not what was packed
		to.Unread(from)
		return nil, err
	}
	defer request.bytes.Free()
	if request.bytes.Len() > usualRequestBytes {
		if done, err := to.turn(ctx); err == nil { // else Take reports that no sender waits
			defer done()
		}
	}
	rejected, err := to.Take(ctx, request.bytes.ReadOnlyData(), from)
	if err != nil {
		return nil, refusal(err).Err()
	}
	return &message{mem.SliceBuffer(response(rejected))}, nil
}

// packed counts the requests that gRPC answers by itself, as they were packed in a way that is not known here.
type packed struct{ to *Recorder }

func (packed) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (packed) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (packed) HandleConn(context.Context, stats.ConnStats)                       {}

func (p packed) HandleRPC(ctx context.Context, event stats.RPCStats) {
	head, isHead := event.(*stats.InHeader)
	if isHead && head.FullMethod == exportPath && head.Compression != "" && encoding.GetCompressor(head.Compression) == nil {
		p.to.Unread(senderOf(ctx))
	}
}

// senderOf reads what the metadata of a request tells.
func senderOf(ctx context.Context) Sender {
	reported, _ := metadata.FromIncomingContext(ctx)
	address := ""
	if from, known := peer.FromContext(ctx); known {
		address = from.Addr.String()
	}
	return sender(address, func(key string) string {
		if values := reported[key]; len(values) > 0 {
			return values[0]
		}
		return ""
	})
}

// sender reads what metadata tells. Without a number of spans, or with one that is none, it tells nothing.
func sender(address string, reported func(key string) string) Sender {
	produced, err := strconv.ParseInt(reported(ProducedKey), 10, 64)
	if err != nil || produced < 0 {
		return Sender{}
	}
	dropped, err := strconv.ParseInt(reported(DroppedKey), 10, 64)
	if err != nil || dropped < 0 {
		dropped = 0
	}
	instance := reported(InstanceKey)
	instance = strings.Clone(instance[:min(len(instance), mostSenderBytes)]) // a part of the text would keep all of it
	return Sender{Instance: instance, Produced: produced, Dropped: dropped, Address: address}
}

// response is an ExportTraceServiceResponse: empty, or with a partial success.
func response(rejected int64) []byte {
	if rejected == 0 {
		return nil
	}
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(rejected))
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), errSpan.Error())
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}

// refusal is the status of an error for a sender: to retry, or not.
func refusal(err error) *status.Status {
	switch {
	case errors.Is(err, ErrFull):
		full := status.New(codes.ResourceExhausted, err.Error())
		if detailed, err := full.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(comeAgain)}); err == nil {
			return detailed
		}
		return full
	case errors.Is(err, ErrBad):
		return status.New(codes.InvalidArgument, err.Error())
	}
	return status.New(codes.Internal, err.Error())
}
