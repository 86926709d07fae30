#!/usr/bin/env bash
# test.sh lint | check | all | long: runs every check of that kind, also after one failed; the last line sums up.
#   lint   formatting, types and static checks
#   check  lint, beside the Python tests that need nothing but a processor; the slow ones of these are left to `all`
#   all    everything; what needs whole clusters mostly waits for them, so it runs beside the rest
#   long   what is slow or random: kills and losses on clusters, all of Go with the race detector, long fuzzing
source "$(dirname "$0")/common.sh"
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
engines="(docker or clusters) and not (nomad or kubernetes or long)"
on_nomad="nomad and not (kubernetes or long)"
on_kubernetes="kubernetes and not long"
real="(servers or system or root) and not (docker or clusters or nomad or kubernetes or long)"
pure="not (servers or system or root or docker or clusters or nomad or kubernetes or long)"
export PATH="$PWD/.venv/bin:$PATH" GOTOOLCHAIN=auto
notes=$(mktemp -d)
export LOADSTONE_TEST_FAILURES=$notes/failures # tests/conftest.py adds each failure to it
lanes=()
trap stop EXIT

# Whatever ended the script, nothing goes on behind it; the exit code stays the script's own.
stop() {
    local lane
    for lane in "${lanes[@]}"; do kill -INT -- "-$lane" 2>/dev/null || true; done
    wait
    rm -rf "$notes"
}

# beside FUNCTION: runs it in a process group of its own, so that Ctrl-C lets it clean up; its output is kept until `join`.
beside() {
    set -m
    "$@" >"$notes/lane.$1" 2>&1 &
    lanes+=($!)
    set +m
}

# join FUNCTION: waits for what runs beside and shows its output.
join() {
    echo "... waiting for: $1"
    wait "${lanes[0]}" || echo "$1" >>"$notes/failed"
    lanes=("${lanes[@]:1}")
    cat "$notes/lane.$1"
}

# check NAME COMMAND...: runs it under a heading and notes how it ended.
check() {
    local name=$1 started=$SECONDS result=failed
    shift
    printf '\n== %s\n' "$name"
    "$@" </dev/null && result=passed
    echo "$name" >>"$notes/$result"
    printf -- '-- %s: %s in %s s\n' "$name" "$result" $((SECONDS - started))
}

in_go() { (cd stone && "$@"); }

gofmt_clean() {
    local unformatted
    unformatted=$(gofmt -l stone)
    [ -z "$unformatted" ] || { printf 'not formatted (gofmt -w %s)\n' $unformatted && return 1; }
}

static() {
    check "ruff check" ruff check
    check "ruff format" ruff format --check --diff
    check "mypy" mypy
    check "gofmt" gofmt_clean
    check "go vet" in_go go vet ./...
    check "staticcheck" in_go go run "$staticcheck" ./...
}

# Tests that wait leave a quarter of the processors idle, so there are more workers; at most eight: each takes half a
# gigabyte, and with more the longest test file decides the time.
pure_tests() {
    local workers
    workers=$((($(nproc) * 3 + 1) / 2))
    check "pure tests" pytest --numprocesses=$((workers < 8 ? workers : 8)) --dist=loadfile --durations=20 -m "$1"
}

# Servers share this machine's control groups, and some of their tests break limits on purpose: one after the other.
real_tests() { check "tests with real servers" pytest --durations=20 -m "$real"; }

go_checks() {
    check "go test" scripts/go-test.sh
    check "go fuzzing" scripts/go-fuzz.sh "${FUZZ_TIME:-2000x}"
}

# on_clusters MARKERS EXPRESSION: only files with one of the markers: to collect all of them takes longer than to run some.
on_clusters() {
    local files
    files=$(grep -rlE "mark\.($1)|ON_CLUSTERS" --include='test_*.py' tests)
    pytest --durations=20 -m "$2" $files
}

# Nomad (where it is not fetched) and Kubernetes are built at low priority while the tests run that need neither; where they are there, that is nothing.
# Each has a session of its own: a shared cluster lives as long as its session, and idle it takes much of a processor.
cluster_tests() {
    local building
    python -m loadstone.infrastructure.builds &
    building=$!
    check "tests on Docker engines" on_clusters "docker|clusters" "$engines"
    check "builds of Nomad and Kubernetes" wait "$building"
    check "tests on Nomad" on_clusters nomad "$on_nomad"
    check "tests on Kubernetes" on_clusters kubernetes "$on_kubernetes"
}

touch "$notes/passed" "$notes/failed" "$LOADSTONE_TEST_FAILURES"
case ${1:-all} in
    lint) static ;;
    check)
        beside static
        pure_tests "$pure and not slow"
        join static
        ;;
    all)
        beside cluster_tests
        static
        go_checks
        pure_tests "$pure"
        real_tests
        join cluster_tests
        ;;
    long)
        check "long tests" pytest --capture=no --durations=20 -m long
        check "go test, all with the race detector" scripts/go-test.sh race
        check "long fuzzing" scripts/go-fuzz.sh "${FUZZ_TIME:-20000x}" 10000000
        ;;
    *) fail "usage: $0 lint | check | all | long" 2 ;;
esac

passed=$(wc -l <"$notes/passed") failed=$(wc -l <"$notes/failed")
if [ "$failed" -gt 0 ]; then
    printf '\n' && cat "$LOADSTONE_TEST_FAILURES"
    printf '\nFAILED: %s (%d of %d passed, %d s)\n' "$(paste -sd, "$notes/failed")" \
        "$passed" $((passed + failed)) $SECONDS
    exit 1
fi
printf '\nAll %d checks passed in %d s\n' "$passed" $SECONDS
