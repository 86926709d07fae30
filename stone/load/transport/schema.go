package transport

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// schema holds the methods of a gRPC server, for all callers of a run. It is learnt once, before the load.
type schema struct {
	learning sync.Mutex
	methods  atomic.Pointer[map[string]*method] // by "/package.Service/Method"; nil until learnt
	heads    memo[*head]
}

// head is what a request says before its body.
type head struct {
	method   *method
	metadata metadata.MD
}

// newSchema reads a descriptor file; without one the schema is learnt from the server.
func newSchema(path string) (*schema, error) {
	s := &schema{}
	if path == "" {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("descriptors: cannot read them: %w", err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(text, &set); err != nil || len(set.File) == 0 {
		return nil, fmt.Errorf("descriptors: %s is no FileDescriptorSet; make one with protoc --include_imports --descriptor_set_out=%s FILE.proto", path, path)
	}
	methods, err := methodsOf(&set, nil)
	if err != nil {
		return nil, fmt.Errorf("descriptors: %s: %w; make it with protoc --include_imports", path, err)
	}
	s.methods.Store(&methods)
	return s, nil
}

// methodsOf lists all methods of the services that are served; nil: of all.
func methodsOf(set *descriptorpb.FileDescriptorSet, served []string) (map[string]*method, error) {
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	methods := map[string]*method{}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			if served != nil && !slices.Contains(served, string(service.FullName())) {
				continue
			}
			for j := range service.Methods().Len() {
				m := newMethod(service.Methods().Get(j), files)
				methods[m.path] = m
			}
		}
		return true
	})
	return methods, nil
}

// learn fetches the server's services, unless they are known.
func (s *schema) learn(ctx context.Context, ask func(context.Context) (*catalogue, error)) error {
	s.learning.Lock()
	defer s.learning.Unlock()
	if s.methods.Load() != nil {
		return nil
	}
	described, err := ask(ctx)
	if err != nil {
		return err
	}
	methods, err := methodsOf(&described.files, described.services)
	if err != nil {
		return &failure{noReflection, err}
	}
	s.methods.Store(&methods)
	return nil
}

// prepared is a request ready to go.
type prepared struct {
	*head
	message []byte
}

// prepare finds the method of a request, and makes its message. Its errors are for the author of the request.
func (s *schema) prepare(request []byte) (prepared, error) {
	end := bytes.Index(request, headEnd)
	if end < 0 {
		return prepared{}, noRequest
	}
	known, err := s.heads.get(request[:end+len(headEnd)], s.readHead)
	if err != nil {
		return prepared{}, err
	}
	message, err := known.method.encode(request[end+len(headEnd):])
	return prepared{known, message}, err
}

// readHead finds the method, and makes metadata of the header lines.
func (s *schema) readHead(text []byte) (*head, error) {
	_, path, lines, _, err := readHead(text)
	if err != nil {
		return nil, err
	}
	path, _, _ = strings.Cut(path, "?")
	h := &head{metadata: metadata.MD{}}
	if h.method, err = s.find(path); err != nil {
		return nil, err
	}
	for _, line := range lines {
		name, value := strings.ToLower(line.name), line.value
		if ofConnection(name) {
			continue
		}
		if strings.HasSuffix(name, "-bin") { // travels as base64, and gRPC encodes it itself
			raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
			if err != nil {
				return nil, fmt.Errorf("%s: header %s: %q is not base64, as headers that end in -bin are", path, name, value)
			}
			value = string(raw)
		}
		h.metadata.Append(name, value)
	}
	return h, nil
}

// find returns a method that takes one message and gives one.
func (s *schema) find(path string) (*method, error) {
	methods := s.methods.Load()
	if methods == nil {
		return nil, fmt.Errorf("%s: the server's methods are not known yet; connect first", path)
	}
	m, known := (*methods)[path]
	if !known {
		return nil, fmt.Errorf("%s: no such method; %s", path, s.hint(path))
	}
	if m.streams {
		return nil, fmt.Errorf("%s: a streaming method; only methods that take one message and give one can be loaded", path)
	}
	return m, nil
}

// hint names the methods of the requested service, or else the services.
func (s *schema) hint(path string) string {
	service := path[:strings.LastIndexByte(path, '/')+1]
	var methods, services []string
	for known := range *s.methods.Load() {
		prefix, name := known[:strings.LastIndexByte(known, '/')+1], known[strings.LastIndexByte(known, '/')+1:]
		if prefix == service {
			methods = append(methods, name)
		}
		services = append(services, strings.Trim(prefix, "/"))
	}
	slices.Sort(methods)
	slices.Sort(services)
	switch {
	case len(methods) > 0:
		return strings.Trim(service, "/") + " has " + strings.Join(methods, ", ")
	case len(services) > 0:
		return "there are the services " + strings.Join(slices.Compact(services), ", ")
	}
	return "there are no services at all"
}
