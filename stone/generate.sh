#!/bin/sh
# Generates the Go code of every .proto and .thrift file; needs protoc and thrift (0.17), fetches the pinned plugins.
set -eu
cd "$(dirname "$0")"
plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
GOBIN="$plugins" go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN="$plugins" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
find . -name '*.proto' | while read -r file; do
  PATH="$plugins:$PATH" protoc --go_out=. --go_opt=paths=source_relative \
    --go-grpc_out=. --go-grpc_opt=paths=source_relative "$file"
done
# The compiler's remote clients (programs of their own) are not wanted.
find . -name '*.thrift' | while read -r file; do
  thrift --gen go:skip_remote -out "$(dirname "$file")" "$file"
done
gofmt -w apps/social/idl apps/media/idl
