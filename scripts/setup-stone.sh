#!/usr/bin/env bash
# Builds the static binaries .build/stone and .build/stone-compose.
source "$(dirname "$0")/common.sh"

needed=1.26
case $(uname -m) in # with the SHA-256 of Go's own archive
    aarch64) machine=arm64 sum=bd03b743eb6eb4193ea3c3fd3956546bf0e3ca5b7076c8226334afe6b75704cd ;;
    *) machine=amd64 sum=aac1b08a0fb0c4e0a7c1555beb7b59180b05dfc5a3d62e40e9de90cd42f88235 ;;
esac
archive=go$needed.0.linux-$machine.tar.gz
remedy="  curl -fsSLO https://go.dev/dl/$archive &&
    echo '$sum  $archive' | sha256sum --check && sudo tar -C /usr/local -xzf $archive
  export PATH=/usr/local/go/bin:\$PATH"
command -v go >/dev/null || fail "Go $needed or newer is needed and no 'go' is installed.
$remedy"
# Inside the module Go 1.21 and later fetch the toolchain that go.mod names by themselves.
found=$(cd stone && GOTOOLCHAIN=auto go env GOVERSION 2>>"$log") || found=$(go version | awk '{print $3}')
[ "$(printf '%s\n' "$needed" "${found#go}" | sort -V | head -n 1)" = "$needed" ] ||
    fail "Go $needed or newer is needed, this is $found ($(command -v go)).
$remedy"

say "stone -> .build/stone (a minute or two the first time)"
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' loadstone/__init__.py)
# Without a commit to record (a tarball, a checkout of another user) the build would stop at stamping it.
vcs=false
if git rev-parse HEAD >/dev/null 2>&1; then vcs=auto; fi
cd stone
export GOTOOLCHAIN=auto
logged go build -trimpath -buildvcs="$vcs" -ldflags "-s -w -X main.version=$version" -o ../.build/part/ ./cmd/...
mv ../.build/part/stone-compose ../.build/
mv ../.build/part/stone ../.build/ # last: make goes by its time
rmdir ../.build/part
