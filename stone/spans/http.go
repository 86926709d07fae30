package spans

import (
	"bytes"
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
		from := sender(r.RemoteAddr, r.Header.Get)
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != typeProtobuf && kind != typeJSON {
			to.Unread(from)
			http.Error(w, fmt.Sprintf("Content-Type is %q; send %s or %s", r.Header.Get("Content-Type"), typeProtobuf, typeJSON),
				http.StatusUnsupportedMediaType)
			return
		}
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-r.Context().Done():
			to.Unread(from)
			return
		}
		rejected, err := takeBody(to, w, r, kind, from)
		answer(w, kind, rejected, err)
	})
	return mux
}

func takeBody(to *Recorder, w http.ResponseWriter, r *http.Request, kind string, from Sender) (rejected int64, err error) {
	body, err := unpack(w, r)
	if err != nil {
		to.Unread(from)
		return 0, err
	}
	text, err := io.ReadAll(io.LimitReader(body, usualRequestBytes+1))
	if err == nil && len(text) > usualRequestBytes {
		var done func()
		if done, err = to.turn(r.Context()); err == nil {
			defer done()
			text, err = readOn(text, body)
		}
	}
	if err != nil {
		err = fmt.Errorf("%w: cannot read the body: %w", ErrBad, err)
	} else if kind == typeJSON {
		text, err = fromJSON(text)
	}
	if err != nil {
		to.Unread(from)
		return 0, err
	}
	return to.Take(r.Context(), text, from)
}

// unpack returns a body that ends with an error where it has more than mostRequestBytes, before or after it is unpacked.
func unpack(w http.ResponseWriter, r *http.Request) (io.Reader, error) {
	limited := http.MaxBytesReader(w, r.Body, mostRequestBytes)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return limited, nil
	case "gzip":
		packed, err := gzip.NewReader(limited)
		if err != nil {
			return nil, fmt.Errorf("%w: body is not what gzip makes: %w", ErrBad, err)
		}
		return http.MaxBytesReader(w, packed, mostRequestBytes), nil
	default:
		return nil, fmt.Errorf("%w: Content-Encoding %q; send gzip or none", ErrBad, encoding)
	}
}

// readOn reads what follows the begin of a body.
func readOn(begin []byte, body io.Reader) ([]byte, error) {
	all := bytes.NewBuffer(begin)
	_, err := all.ReadFrom(body)
	return all.Bytes(), err
}

// answer writes an ExportTraceServiceResponse, or a google.rpc.Status, in the encoding of the request.
func answer(w http.ResponseWriter, kind string, rejected int64, err error) {
	w.Header().Set("Content-Type", kind)
	if err == nil {
		body := response(rejected)
		if kind == typeJSON {
			body = []byte("{}")
			if rejected > 0 {
				body = fmt.Appendf(nil, `{"partialSuccess":{"rejectedSpans":"%d","errorMessage":%q}}`, rejected, errSpan.Error())
			}
		}
		_, _ = w.Write(body) // fails only if the sender went away
		return
	}
	state, code := refusal(err), http.StatusBadRequest
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		code = http.StatusRequestEntityTooLarge
		state = status.Newf(codes.InvalidArgument, "more than %d bytes; send smaller batches", mostRequestBytes)
	case state.Code() == codes.ResourceExhausted:
		code = http.StatusTooManyRequests
		w.Header().Set("Retry-After", strconv.Itoa(int(comeAgain.Seconds())))
	case state.Code() == codes.Internal:
		code = http.StatusInternalServerError
	}
	marshal := proto.Marshal
	if kind == typeJSON {
		marshal = protojson.Marshal
	}
	body, err := marshal(state.Proto())
	if err != nil {
		code, body = http.StatusInternalServerError, nil
	}
	w.WriteHeader(code)
	_, _ = w.Write(body)
}
