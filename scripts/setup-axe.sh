#!/usr/bin/env bash
# Fetches axe-core, which the tests of the report's accessibility run in Chromium, into .build/axe. Debian's npm is a few
# hundred packages, so it is not installed for this alone: without npm these tests are skipped.
source "$(dirname "$0")/common.sh"
command -v npm >/dev/null || { say "tests of accessibility are skipped, for want of npm" && exit 0; }

say "axe-core -> .build/axe"
mkdir -p .build/axe
cp tests/report/axe/package.json tests/report/axe/package-lock.json .build/axe/
logged npm ci --prefix .build/axe --ignore-scripts --prefer-offline --no-audit --no-fund --no-update-notifier
touch .build/axe/.ready
