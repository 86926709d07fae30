package spans

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"

	mostBodies = 8 // requests over HTTP that are in memory at a time; others wait
)

// httpHandler takes spans at POST /v1/traces for the recorder.
func httpHandler(to *Recorder) http.Handler {
	turns := make(chan struct{}, mostBodies)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != typeProtobuf && kind != typeJSON {
			http.Error(w, fmt.Sprintf("Content-Type is %q; send %s or %s", r.Header.Get("Content-Type"), typeProtobuf, typeJSON),
				http.StatusUnsupportedMediaType)
			return
		}
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-r.Context().Done():
			return
		}
		rejected, err := takeBody(to, w, r, kind)
		answer(w, kind, rejected, err)
	})
	return mux
}

func takeBody(to *Recorder, w http.ResponseWriter, r *http.Request, kind string) (rejected int64, err error) {
	body, err := unpack(w, r)
	if err == nil && kind == typeJSON {
		body, err = fromJSON(body)
	}
	if err != nil {
		if !errors.As(err, new(*http.MaxBytesError)) {
			to.Unreadable()
		}
		return 0, err
	}
	return to.Take(r.Context(), body, sender(r.RemoteAddr, r.Header.Get))
}

// unpack reads a body of at most mostRequestBytes, before and after it is unpacked.
func unpack(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limited := http.MaxBytesReader(w, r.Body, mostRequestBytes)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return readBody(limited)
	case "gzip":
		packed, err := gzip.NewReader(limited)
		if err != nil {
			return nil, fmt.Errorf("%w: body is not what gzip makes: %w", ErrBad, err)
		}
		return readBody(http.MaxBytesReader(w, packed, mostRequestBytes))
	default:
		return nil, fmt.Errorf("%w: Content-Encoding %q; send gzip or none", ErrBad, encoding)
	}
}

func readBody(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read the body: %w", ErrBad, err)
	}
	return text, nil
}

// answer writes an ExportTraceServiceResponse, or a google.rpc.Status, in the encoding of the request.
func answer(w http.ResponseWriter, kind string, rejected int64, err error) {
	w.Header().Set("Content-Type", kind)
	if err == nil {
		body := response(rejected)
		if kind == typeJSON {
			body = []byte("{}")
			if rejected > 0 {
				body = fmt.Appendf(nil, `{"partialSuccess":{"rejectedSpans":"%d","errorMessage":%q}}`, rejected, errID.Error())
			}
		}
		_, _ = w.Write(body) // fails only if the sender went away
		return
	}
	told, code := refusal(err), http.StatusBadRequest
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		code = http.StatusRequestEntityTooLarge
		told = status.Newf(codes.InvalidArgument, "more than %d bytes; send smaller batches", mostRequestBytes)
	case told.Code() == codes.ResourceExhausted:
		code = http.StatusTooManyRequests
		w.Header().Set("Retry-After", strconv.Itoa(int(comeAgain.Seconds())))
	case told.Code() == codes.Internal:
		code = http.StatusInternalServerError
	}
	marshal := proto.Marshal
	if kind == typeJSON {
		marshal = protojson.Marshal
	}
	body, err := marshal(told.Proto())
	if err != nil {
		code, body = http.StatusInternalServerError, nil
	}
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
