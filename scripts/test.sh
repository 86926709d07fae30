#!/usr/bin/env bash
# Runs every check, or only those of one kind: test.sh [lint]. All of them run even where one fails; the last line sums up.
source "$(dirname "$0")/common.sh"
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
# A number of inputs, not of seconds: at the end of its time Go's fuzzing now and then takes its own deadline for a failure.
fuzz_time=${FUZZ_TIME:-5000x}
export PATH="$PWD/.venv/bin:$PATH" GOTOOLCHAIN=auto
passed=() failed=()

# check NAME COMMAND...: runs it under a heading and remembers how it ended.
check() {
    local name=$1 started=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    if "$@" </dev/null; then passed+=("$name"); else failed+=("$name"); fi
    printf -- '-- %s: %s s\n' "$name" $((SECONDS - started))
}

in_go() { (cd stone && "$@"); }

gofmt_clean() {
    local unformatted
    unformatted=$(gofmt -l stone)
    [ -z "$unformatted" ] || { printf 'not formatted (gofmt -w %s)\n' $unformatted && return 1; }
}

# The race detector needs a C compiler; without one the same tests run plainly.
go_tests() {
    if command -v cc >/dev/null; then
        CGO_ENABLED=1 in_go go test -race ./...
    else
        echo "no C compiler here, so without the race detector" && in_go go test ./...
    fi
}

# Every fuzz target for some thousand inputs, on top of the recorded inputs that 'go test' already runs.
fuzz() {
    local file target count=0
    while IFS=: read -r file target; do
        [ -n "$target" ] || continue
        count=$((count + 1))
        in_go go test "./$(dirname "${file#stone/}")" -run '^$' -fuzz "^$target\$" -fuzztime "$fuzz_time" || return 1
    done < <(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' stone | sed -E 's/:[0-9]+:func /:/')
    echo "$count fuzz targets, $fuzz_time each"
}

check "ruff check" ruff check
check "ruff format" ruff format --check --diff
check "mypy" mypy
check "gofmt" gofmt_clean
check "go vet" in_go go vet ./...
check "staticcheck" in_go go run "$staticcheck" ./...
if [ "${1:-}" != lint ]; then
    check "go test" go_tests
    check "go fuzzing" fuzz
    check "pytest" pytest
fi

printf '\n'
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s (%d of %d passed, %d s)\n' "$(IFS=,; echo "${failed[*]}")" \
        ${#passed[@]} $((${#passed[@]} + ${#failed[@]})) $SECONDS
    exit 1
fi
printf 'All %d checks passed in %d s\n' ${#passed[@]} $SECONDS
