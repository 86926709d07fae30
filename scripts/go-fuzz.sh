#!/usr/bin/env bash
# go-fuzz.sh TIME: every Go fuzz target, on top of the recorded inputs that `go test` runs. The targets of a package share one binary:
# a build costs more than a thousand inputs. TIME is a number of inputs (2000x), not of seconds: at the end of its time Go's fuzzing
# now and then takes its own deadline for a failure.
source "$(dirname "$0")/common.sh"
count=0
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
cd stone
while read -r package; do
    go test -c -vet=off -fuzz=Fuzz -o "$built/fuzz.test" "$package"
    for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$package"/*_test.go | sed 's/func //'); do
        count=$((count + 1))
        # Inputs that reach new code are kept from run to run where `go test -fuzz` keeps them; a failing one is written to testdata.
        (cd "$package" && "$built/fuzz.test" -test.run='^$' -test.fuzz="^$target\$" -test.fuzztime="$1" \
            -test.fuzzcachedir="$(go env GOCACHE)/fuzz/$(go list)") >"$built/log" 2>&1 || {
            echo "$package: $target"
            cat "$built/log"
            exit 1
        }
    done
done < <(grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u)
echo "$count fuzz targets, $1 each"
