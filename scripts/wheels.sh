#!/usr/bin/env bash
# Builds dist/loadstone-*.whl, one for each processor. The same commit gives the same bytes.
source "$(dirname "$0")/common.sh"

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
export SOURCE_DATE_EPOCH
for processor in amd64 arm64; do
    say "wheel for linux/$processor -> dist (minutes the first time)"
    LOADSTONE_WHEEL=$processor logged .venv/bin/python -m pip --disable-pip-version-check --no-input wheel --quiet \
        --no-deps --wheel-dir dist .
done
sha256sum dist/loadstone-*.whl
