#!/usr/bin/env bash
# Runs the benchmarks: all of bench/, or the one named. Exits 1 if one could not run; a missed target is no failure.
source "$(dirname "$0")/common.sh"

names=()
for file in bench/*.py; do
    if grep -q '^if __name__ == "__main__":' "$file"; then names+=("$(basename "$file" .py)"); fi
done
if [ $# -gt 0 ]; then
    [[ " ${names[*]} " == *" $1 "* ]] || fail "no benchmark '$1'; there are: ${names[*]}" 2
    names=("$1")
fi
failed=()
for name in "${names[@]}"; do
    printf '\n== %s\n' "$name"
    # What virtual machines are made with, of all benchmarks needed by this one alone.
    [ "$name" != environments ] || scripts/setup-system.sh guests || { failed+=("$name"); continue; }
    .venv/bin/python -m bench "$name" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || fail "could not run: ${failed[*]}" 1
