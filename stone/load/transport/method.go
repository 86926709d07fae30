package transport

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// method is one method of a gRPC service, with the messages it takes and gives.
type method struct {
	path     string // "/package.Service/Method"
	streams  bool
	input    protoreflect.MessageType
	output   protoreflect.MessageType
	read     protojson.UnmarshalOptions
	write    protojson.MarshalOptions
	messages memo[[]byte] // as they travel, by their JSON
}

func newMethod(descriptor protoreflect.MethodDescriptor, files *protoregistry.Files) *method {
	types := dynamicpb.NewTypes(files) // what an Any may hold
	return &method{
		path:    fmt.Sprintf("/%s/%s", descriptor.Parent().FullName(), descriptor.Name()),
		streams: descriptor.IsStreamingClient() || descriptor.IsStreamingServer(),
		input:   dynamicpb.NewMessageType(descriptor.Input()),
		output:  dynamicpb.NewMessageType(descriptor.Output()),
		read:    protojson.UnmarshalOptions{Resolver: types},
		write:   protojson.MarshalOptions{Resolver: types},
	}
}

// encode makes the message of its JSON; no text at all is the empty message.
func (m *method) encode(text []byte) ([]byte, error) {
	return m.messages.get(text, m.compile)
}

func (m *method) compile(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return []byte{}, nil
	}
	message := m.input.New().Interface()
	if err := m.read.Unmarshal(text, message); err != nil {
		return nil, fmt.Errorf("%s: the body is no %s as JSON: %w", m.path, m.input.Descriptor().FullName(), err)
	}
	return proto.Marshal(message)
}

// decode makes JSON of an answer.
func (m *method) decode(wire []byte) ([]byte, error) {
	message := m.output.New().Interface()
	if err := proto.Unmarshal(wire, message); err != nil {
		return nil, err
	}
	return m.write.Marshal(message)
}

// wire hands messages over as they travel: requests are made of JSON before, and answers are decoded only if
// the plan reads them.
type wire struct{}

// reply is an answer's message; its bytes are kept if `whole` is set.
type reply struct {
	whole bool
	size  int
	data  []byte
}

func (wire) Name() string { return "proto" }

func (wire) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(message.([]byte))}, nil
}

func (wire) Unmarshal(data mem.BufferSlice, into any) error {
	got := into.(*reply)
	if got.size = data.Len(); got.whole {
		got.data = data.Materialize()
	}
	return nil
}

const (
	memoMost  = 4096 // values that a memo holds
	memoBytes = 1024 // longer texts are not held
)

// memo keeps what was made of the first texts that came along: workloads that draw from few values make the same text
// again and again, and of the others it keeps no more than a little memory.
type memo[T any] struct {
	lock sync.RWMutex
	made map[string]T
}

func (m *memo[T]) get(text []byte, make func([]byte) (T, error)) (T, error) {
	m.lock.RLock()
	value, known := m.made[string(text)]
	room := len(m.made) < memoMost && len(text) <= memoBytes
	m.lock.RUnlock()
	if known {
		return value, nil
	}
	value, err := make(text)
	if err == nil && room {
		m.lock.Lock()
		defer m.lock.Unlock()
		if m.made == nil {
			m.made = map[string]T{}
		}
		m.made[string(text)] = value
	}
	return value, err
}
