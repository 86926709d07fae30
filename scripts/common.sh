# Sourced by the other scripts: saying, failing, and long output kept in a log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PATH:/usr/sbin:/sbin:/usr/local/go/bin" LC_ALL=C.UTF-8
# Without paths in what it compiles, every checkout on a machine shares what Go has built.
export GOFLAGS="${GOFLAGS:--trimpath}"
# As `stone` is built, so that its packages are not compiled again for its tests.
export CGO_ENABLED=0
mkdir -p .build
log=$PWD/.build/setup.log

say() { printf '%s\n' "$*" >&2; }

# fail MESSAGE [EXIT CODE]: exit 3 is "this machine lacks something".
fail() {
    say "error: $1"
    exit "${2:-3}"
}

# logged COMMAND...: its output goes to the log; where it fails, the log's tail is shown.
logged() {
    { date '+--- %F %T'; printf '+ %s\n' "$*"; } >>"$log"
    "$@" >>"$log" 2>&1 </dev/null || {
        say "failed: $*"
        tail -n 25 "$log" | sed 's/^/    /' >&2
        say "all of it: $log"
        return 1
    }
}
