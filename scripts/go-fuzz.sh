#!/usr/bin/env bash
# go-fuzz.sh TIME [TOTAL]: every Go fuzz target, on top of the recorded inputs that `go test` runs. The targets of a package share one
# binary: a build costs more than a thousand inputs. TIME is a number of inputs (2000x), not of seconds: at the end of its time Go's
# fuzzing now and then takes its own deadline for a failure. With TOTAL, further inputs up to that number for all targets together,
# each for about as long as any other: their rates, of the first round, differ by a factor of a hundred. Only then is coverage what
# guides the fuzzing: it wants all packages compiled anew, the standard library's too, which takes longer than thousands of inputs.
source "$(dirname "$0")/common.sh"
count=0 total=0
guided=()
[ $# -lt 2 ] || guided=(-fuzz=Fuzz)
declare -A rates
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
cd stone

# fuzz PACKAGE TARGET TIME: adds what it ran to `total`, and sets `rate`, in inputs a second.
fuzz() {
    local began inputs ms
    began=$(date +%s%N)
    # Inputs that reach new code are kept from run to run where `go test -fuzz` keeps them; a failing one is written to testdata.
    (cd "$1" && "$built/$(tr / _ <<<"$1")" -test.run='^$' -test.fuzz="^$2\$" -test.fuzztime="$3" \
        -test.fuzzcachedir="$(go env GOCACHE)/fuzz/$(go list)") >"$built/log" 2>&1 || {
        echo "$1: $2"
        cat "$built/log"
        exit 1
    }
    ms=$((($(date +%s%N) - began) / 1000000 + 1))
    inputs=$(grep -oE 'execs: [0-9]+' "$built/log" | tail -1 | cut -d' ' -f2)
    total=$((total + inputs)) rate=$((inputs * 1000 / ms + 1))
    printf '%-28s %-24s %9d inputs in %6d ms\n' "$1" "$2" "$inputs" "$ms"
}

while read -r package; do
    go test -c -vet=off "${guided[@]}" -o "$built/$(tr / _ <<<"$package")" "$package"
    for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$package"/*_test.go | sed 's/func //'); do
        count=$((count + 1))
        fuzz "$package" "$target" "$1"
        rates[$package $target]=$rate
    done
done < <(grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u)

more=$((${2:-0} - total)) sum=0
for rate in "${rates[@]}"; do sum=$((sum + rate)); done
if [ "$more" -gt 0 ]; then
    for each in "${!rates[@]}"; do
        fuzz "${each% *}" "${each#* }" "$((more * rates[$each] / sum + 1))x"
    done
fi
echo "$count fuzz targets, $total inputs, none crashed"
