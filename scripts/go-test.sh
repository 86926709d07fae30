#!/usr/bin/env bash
# go-test.sh [race]: Go's tests, each package once. With the race detector where goroutines meet, which is where a package starts them,
# other than applications, which are handlers over the same platform, and what is only for tests; with "race" in all.
# The race detector needs a C compiler; without one the same tests run plainly.
source "$(dirname "$0")/common.sh"
cd stone
test=(go test -vet=off) # `go vet` is a check of its own

if ! command -v cc >/dev/null; then
    echo "no C compiler here, so without the race detector"
    exec "${test[@]}" ./...
fi
if [ "${1:-}" = race ]; then CGO_ENABLED=1 exec "${test[@]}" -race ./...; fi

mapfile -t raced < <(grep -rlE --include='*.go' --exclude='*_test.go' '^\s*go (func|[a-zA-Z.]+)\(|\.Go\(func' . |
    xargs -n 1 dirname | grep -vE '^\./(apps|cmd)/|test$' | sort -u)
mapfile -t plain < <(go list -f '{{.Dir}}' ./... | sed "s#^$PWD#.#" | grep -vxF "$(printf '%s\n' "${raced[@]}")")
failed=0
CGO_ENABLED=1 "${test[@]}" -race "${raced[@]}" || failed=1
"${test[@]}" -p 4 "${plain[@]}" || failed=1 # whole applications: they wait for stores more than they compute
exit $failed
