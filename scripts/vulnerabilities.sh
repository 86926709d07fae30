#!/usr/bin/env bash
# Known vulnerabilities of all that is pinned, in Go and Python. Exit 1: there are some; 3: a database cannot be reached.
source "$(dirname "$0")/common.sh"

govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
pip_audit=pip-audit==2.10.1
code=0

# checked LANGUAGE DATABASE KNOWN COMMAND...: runs the command where the database answers with an entry that it must have.
# Mirrors of registries answer too, and know of nothing.
checked() {
    local language=$1 database=$2 known=$3
    shift 3
    if ! .venv/bin/python -c 'import requests, sys; assert sys.argv[2] in requests.get(sys.argv[1], timeout=10).text' "$database" "$known" 2>/dev/null; then
        say "error: $language was not checked: $database cannot be reached from here"
        [ $code = 1 ] || code=3
    elif "$@"; then
        say "$language: no known vulnerability"
    else
        say "error: $language: see above"
        code=1
    fi
}

in_go() { (cd stone && go run "$govulncheck" ./...); }
in_python() {
    [ -x .build/audit/bin/pip-audit ] || { python3 -m venv .build/audit && logged .build/audit/bin/pip install --quiet "$pip_audit"; } || return
    .build/audit/bin/pip-audit --requirement requirements.lock --require-hashes --disable-pip --strict
}

checked Go "${GOVULNDB:-https://vuln.go.dev}/index/modules.json" golang.org/x/net in_go
checked Python https://pypi.org/pypi/jinja2/2.10/json CVE-2019-10906 in_python
exit $code
