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
# The compiler's remote clients (programs of their own) are not wanted, nor that a client keeps the last answer's
# headers: framed binary has none, and calls at the same time would race for them.
find . -name '*.thrift' | while read -r file; do
  folder=$(dirname "$file")
  thrift --gen go:skip_remote -out "$folder" "$file"
  find "$folder" -name '*.go' -exec sed -i 's/p\.SetLastResponseMeta_(\(_meta[0-9]*\))/_ = \1/' {} +
  gofmt -w "$folder"
done
