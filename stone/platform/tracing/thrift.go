package tracing

import (
	"context"
	"maps"
	"reflect"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"
)

// Processors are the middleware of a Thrift server: none if tracing is off.
func (t *Tracing) Processors() []thrift.ProcessorMiddleware {
	if t == nil {
		return nil
	}
	return []thrift.ProcessorMiddleware{t.process}
}

// process gives a handler the context of its caller, although generated code is given a context before it reads the
// carrier: the context is filled in when the arguments have been read.
func (t *Tracing) process(name string, next thrift.TProcessorFunction) thrift.TProcessorFunction {
	process := func(ctx context.Context, sequence int32, in, out thrift.TProtocol) (bool, thrift.TException) {
		call := &incomingCall{Context: ctx}
		read := &argumentReader{TProtocol: in, whole: func(parentHeader, stateHeader string) {
			call.Context, call.span = t.serve(ctx, parentHeader, stateHeader, name)
		}}
		whole, failed := next.Process(call, sequence, read, out)
		call.span.endWith(failed)
		return whole, failed
	}
	return thrift.WrappedTProcessorFunction{Wrapped: process}
}

// incomingCall is a context whose values are filled in before the handler begins, by the goroutine that calls it.
type incomingCall struct {
	context.Context
	span *span
}

// argumentReader notes what the carrier says, which of all arguments alone is a map of texts, and tells it once they have
// all been read.
type argumentReader struct {
	thrift.TProtocol
	whole  func(parentHeader, stateHeader string)
	inMap  bool
	isKey  bool
	key    string
	parent string
	state  string
}

func (r *argumentReader) ReadMapBegin(ctx context.Context) (key, value thrift.TType, size int, err error) {
	key, value, size, err = r.TProtocol.ReadMapBegin(ctx)
	r.inMap, r.isKey = key == thrift.STRING && value == thrift.STRING, true
	return key, value, size, err
}

func (r *argumentReader) ReadMapEnd(ctx context.Context) error {
	r.inMap = false
	return r.TProtocol.ReadMapEnd(ctx)
}

func (r *argumentReader) ReadString(ctx context.Context) (string, error) {
	text, err := r.TProtocol.ReadString(ctx)
	switch {
	case !r.inMap:
	case r.isKey:
		r.key, r.isKey = text, false
	default:
		switch r.key {
		case traceparent:
			r.parent = text
		case tracestate:
			r.state = text
		}
		r.isKey = true
	}
	return text, err
}

func (r *argumentReader) ReadMessageEnd(ctx context.Context) error {
	err := r.TProtocol.ReadMessageEnd(ctx)
	r.whole(r.parent, r.state)
	return err
}

// Thrift calls what another client calls, each call within a span that its carrier names.
func (t *Tracing) Thrift(need string, client thrift.TClient) thrift.TClient {
	if t == nil {
		return client
	}
	return thriftClient{client, t.neighbour(need)}
}

type thriftClient struct {
	next thrift.TClient
	need *neighbour
}

func (c thriftClient) Call(ctx context.Context, method string, arguments, result thrift.TStruct) (thrift.ResponseMeta, error) {
	ctx, span := c.need.call(ctx, method, "")
	carry(ctx, arguments)
	meta, err := c.next.Call(ctx, method, arguments, result)
	if span != nil {
		raised := err
		if raised == nil && result != nil {
			raised = thrift.ExtractExceptionFromResult(result)
		}
		span.endWith(raised)
	}
	return meta, err
}

// carry says in the carrier of a call's arguments whose part the call is. A handler passes on the carrier that it was
// given, to several calls at the same time: it is left as it is, and what else it says is kept.
func carry(ctx context.Context, arguments thrift.TStruct) {
	parentHeader, stateHeader := headers(ctx)
	carrier := carrierOf(arguments)
	if carrier == nil || parentHeader == "" || (*carrier)[traceparent] == parentHeader && (*carrier)[tracestate] == stateHeader {
		return // as it is in a request that is not traced
	}
	fields := make(map[string]string, len(*carrier)+2)
	maps.Copy(fields, *carrier)
	fields[traceparent] = parentHeader
	if delete(fields, tracestate); stateHeader != "" {
		fields[tracestate] = stateHeader
	}
	*carrier = fields
}

// carrierFields are the numbers of the field Carrier by type of arguments; -1 where there is none.
var carrierFields sync.Map

func carrierOf(arguments thrift.TStruct) *map[string]string {
	value := reflect.ValueOf(arguments)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return nil
	}
	value = value.Elem()
	number, known := carrierFields.Load(value.Type())
	if !known {
		number = -1
		if field, is := value.Type().FieldByName("Carrier"); is && field.Type == reflect.TypeFor[map[string]string]() {
			number = field.Index[0]
		}
		carrierFields.Store(value.Type(), number)
	}
	if number == -1 {
		return nil
	}
	return value.Field(number.(int)).Addr().Interface().(*map[string]string)
}
