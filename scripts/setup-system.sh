#!/usr/bin/env bash
# Installs what Loadstone needs from Debian or Ubuntu: setup-system.sh run | clusters | test | python
# Only what is missing is installed; no service is started or enabled, and what runs already is left alone.
source "$(dirname "$0")/common.sh"

# has PACKAGE: is what we need of it there, from wherever it came?
has() {
    case $1 in
        postgresql) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null ;;
        python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
        docker.io) command -v dockerd >/dev/null && command -v docker >/dev/null ;;
        containernetworking-plugins) [ -x /usr/lib/cni/bridge ] || [ -x /opt/cni/bin/bridge ] ;;
        docker-compose) command -v docker-compose >/dev/null || docker compose version >/dev/null 2>&1 ;;
        iproute2) command -v ip >/dev/null && command -v tc >/dev/null ;;
        chromium) command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ;;
        python3 | redis-server | memcached | nginx | prometheus | containerd | runc | conntrack | iptables | docker-registry | haproxy | openssl)
            command -v "$1" >/dev/null ;;
        *) fail "nobody said how $1 is recognised" 2 ;;
    esac
}
stores=(memcached redis-server postgresql)
clusters=(docker.io docker-compose containerd runc containernetworking-plugins conntrack iproute2 iptables haproxy openssl)

case ${1:-run} in
    run) packages=("${stores[@]}") ;;
    clusters) packages=("${stores[@]}" "${clusters[@]}") ;;
    test)
        packages=("${stores[@]}" "${clusters[@]}" nginx prometheus docker-registry)
        # Ubuntu's package is a stub for a snap, which servers often cannot run; without one, tests of pages are skipped.
        if apt-cache show chromium 2>/dev/null | grep -q '^Maintainer:.*debian'; then packages+=(chromium); fi
        ;;
    python) packages=(python3 python3-venv) ;;
    *) fail "usage: $0 run | clusters | test | python" 2 ;;
esac
missing=()
for package in "${packages[@]}"; do has "$package" || missing+=("$package"); done
[ ${#missing[@]} -gt 0 ] || exit 0

line="sudo apt-get install -y --no-install-recommends ${missing[*]}"
command -v apt-get >/dev/null || fail "not installed here: ${missing[*]}
  Loadstone installs them itself on Debian and Ubuntu (there: $line); elsewhere use your system's own packages."
as_root=()
if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
    sudo -n true 2>/dev/null || fail "not installed here: ${missing[*]}; installing them needs root. Run this, then try again:
  $line"
fi
as_root+=(env DEBIAN_FRONTEND=noninteractive)

# Debian's packages start what they install, unless this file says no.
policy=/usr/sbin/policy-rc.d
allow_services() { [ -z "${policy_made:-}" ] || "${as_root[@]}" rm -f "$policy"; }
trap allow_services EXIT
if [ ! -e $policy ]; then
    policy_made=yes
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
    "${as_root[@]}" chmod 755 $policy
fi

say "apt-get install ${missing[*]} (services are neither started nor enabled)"
install=("${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}")
if ! logged "${install[@]}" 2>/dev/null; then # old package lists are the usual reason
    logged "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update || fail "the package lists could not be fetched"
    logged "${install[@]}" || fail "could not install; to see why, run:
  $line"
fi
for package in "${missing[@]}"; do
    has "$package" || fail "$package is installed, but what is needed of it is not there. Try:
  sudo apt-get install -y --reinstall $package"
done
# Nor are they to start at the next boot; what was there before keeps its setting.
for package in "${missing[@]}"; do
    case $package in
        memcached | redis-server | postgresql | nginx | prometheus | docker.io | containerd | docker-registry | haproxy)
            logged "${as_root[@]}" update-rc.d "${package%.io}" disable || say "$package may start at the next boot" ;;
    esac
done
