#!/usr/bin/env bash
# Runs every check, or only those of one kind: test.sh [lint]. All of them run even where one fails; the last line sums up.
# What needs whole clusters mostly waits for them, so it runs beside the rest, and its output is shown when both are done.
# Deployments as processes are tests of the rest alone: they share control groups, and some of them break limits on purpose.
source "$(dirname "$0")/common.sh"
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
# A number of inputs, not of seconds: at the end of its time Go's fuzzing now and then takes its own deadline for a failure.
fuzz_time=${FUZZ_TIME:-5000x}
clusters="clusters or docker"
export PATH="$PWD/.venv/bin:$PATH" GOTOOLCHAIN=auto
beside=$(mktemp -d)
lane=
trap stop EXIT

# Whatever ended the script, nothing goes on behind it; the exit code stays the script's own.
stop() {
    [ -z "$lane" ] || kill -INT -- "-$lane" 2>/dev/null || true
    wait
    rm -rf "$beside"
}

# check NAME COMMAND...: runs it under a heading and notes how it ended.
check() {
    local name=$1 started=$SECONDS result=failed
    shift
    printf '\n== %s\n' "$name"
    "$@" </dev/null && result=passed
    echo "$name" >>"$beside/$result"
    printf -- '-- %s: %s in %s s\n' "$name" "$result" $((SECONDS - started))
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

static() {
    check "ruff check" ruff check
    check "ruff format" ruff format --check --diff
    check "mypy" mypy
    check "gofmt" gofmt_clean
    check "go vet" in_go go vet ./...
    check "staticcheck" in_go go run "$staticcheck" ./...
}

touch "$beside/passed" "$beside/failed"
if [ "${1:-}" = lint ]; then
    static
else
    set -m # a process group of its own, so that Ctrl-C lets it clean up
    { check "tests on clusters" pytest -m "$clusters" && check "go fuzzing" fuzz; } >"$beside/log" 2>&1 &
    lane=$!
    set +m
    static
    check "go test" go_tests
    check "pytest" pytest -m "not ($clusters)"
    echo "... waiting for what runs beside"
    wait "$lane" || echo "what runs beside" >>"$beside/failed"
    lane=
    cat "$beside/log"
fi

passed=$(wc -l <"$beside/passed") failed=$(wc -l <"$beside/failed")
if [ "$failed" -gt 0 ]; then
    printf '\nFAILED: %s (%d of %d passed, %d s)\n' "$(paste -sd, "$beside/failed")" \
        "$passed" $((passed + failed)) $SECONDS
    exit 1
fi
printf '\nAll %d checks passed in %d s\n' "$passed" $SECONDS
