#!/usr/bin/env bash
# Writes requirements.lock anew: the versions that it has, with the hashes of every file of each release, for all platforms.
source "$(dirname "$0")/common.sh"

[ -x .build/lock/bin/uv ] || { python3 -m venv .build/lock && logged .build/lock/bin/pip install --quiet uv==0.13.9; }
grep -oE '^[A-Za-z0-9._-]+==[^ ;]+' requirements.lock >.build/versions.txt
.build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-deps --generate-hashes --no-annotate --no-header \
    .build/versions.txt --output-file .build/requirements.lock
mv .build/requirements.lock requirements.lock
