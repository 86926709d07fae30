#!/usr/bin/env bash
# Makes .venv with exactly the packages of requirements.lock, and Loadstone itself, editable.
source "$(dirname "$0")/common.sh"

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

python=
for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null && new_enough "$candidate"; then python=$candidate && break; fi
done
if [ -z "$python" ] || ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    scripts/setup-system.sh python
    python=${python:-python3}
    new_enough "$python" || fail "Python 3.11 or newer is needed, this is $("$python" --version 2>&1).
  sudo apt-get install -y python3.12 python3.12-venv   # or python3.11, whichever your release has"
fi

say "Python packages -> .venv (about half a minute, once)"
# A folder that was moved or whose Python is gone cannot be repaired, only made again.
if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version 2>/dev/null | grep -qF "$PWD/.venv/"; then
    rm -rf .venv
    logged "$python" -m venv .venv
fi
# The lock is complete, so nothing is resolved; modules are compiled when they are first imported.
if command -v uv >/dev/null; then
    install=(uv pip install --quiet --python .venv/bin/python --no-deps)
else
    install=(.venv/bin/python -m pip --disable-pip-version-check --no-input install --quiet --no-compile --no-deps)
fi
logged "${install[@]}" --require-hashes --requirement requirements.lock
# The package is built in isolation with the hatchling that pyproject.toml pins: 2 s more than having it in the lock.
logged "${install[@]}" --editable .
touch .venv/.ready
