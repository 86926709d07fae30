package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// versions of the reflection service, the newer first; their messages are the same.
var versions = []string{
	reflection.ServerReflection_ServerReflectionInfo_FullMethodName,
	strings.Replace(reflection.ServerReflection_ServerReflectionInfo_FullMethodName, ".v1.", ".v1alpha.", 1),
}

// catalogue is what a server tells of itself: its services, and the files that describe them and maybe others.
type catalogue struct {
	services []string
	files    descriptorpb.FileDescriptorSet
}

// reflect fetches the services of a server (gRPC server reflection, v1 or v1alpha).
func reflect(conn grpc.ClientConnInterface) func(context.Context) (*catalogue, error) {
	return func(ctx context.Context) (*catalogue, error) {
		var failed error
		for _, version := range versions {
			described, err := reflectBy(ctx, conn, version)
			if status.Code(err) != codes.Unimplemented {
				return described, err
			}
			failed = err
		}
		return nil, &failure{noReflection, failed}
	}
}

func reflectBy(ctx context.Context, conn grpc.ClientConnInterface, version string) (*catalogue, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &reflection.ServerReflection_ServiceDesc.Streams[0], version)
	if err != nil {
		return nil, err
	}
	query := &inquiry{stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}}
	list := &reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}}
	answer, err := query.ask(list)
	if err != nil {
		return nil, err
	}
	described := &catalogue{}
	for _, service := range answer.GetListServicesResponse().GetService() {
		described.services = append(described.services, service.GetName())
		symbol := &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service.GetName()}
		if err := query.fetch(&reflection.ServerReflectionRequest{MessageRequest: symbol}); err != nil {
			return nil, &failure{noReflection, fmt.Errorf("service %s: %w", service.GetName(), err)}
		}
	}
	for _, file := range query.files {
		described.files.File = append(described.files.File, file)
	}
	return described, nil
}

// inquiry is one conversation with a reflection service, and the files it has given.
type inquiry struct {
	stream grpc.ClientStream
	files  map[string]*descriptorpb.FileDescriptorProto
}

func (i *inquiry) ask(request *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	answer := &reflection.ServerReflectionResponse{}
	if err := i.stream.SendMsg(request); err != nil && status.Code(err) != codes.Unknown { // io.EOF: the answer says why
		return nil, err
	}
	if err := i.stream.RecvMsg(answer); err != nil {
		return nil, err
	}
	if refusal := answer.GetErrorResponse(); refusal != nil {
		return nil, errors.New(refusal.GetErrorMessage())
	}
	return answer, nil
}

// fetch takes the files of an answer, and then those that they import.
func (i *inquiry) fetch(request *reflection.ServerReflectionRequest) error {
	answer, err := i.ask(request)
	if err != nil {
		return err
	}
	var imports []string
	for _, wire := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(wire, file); err != nil {
			return err
		}
		if i.files[file.GetName()] == nil {
			i.files[file.GetName()] = file
			imports = append(imports, file.GetDependency()...)
		}
	}
	for _, name := range imports {
		if i.files[name] != nil {
			continue
		}
		byName := &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: name}
		if err := i.fetch(&reflection.ServerReflectionRequest{MessageRequest: byName}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
