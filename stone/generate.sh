#!/bin/sh
# Generates the Go code of every .proto file; needs protoc, fetches the pinned plugins.
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
