#!/usr/bin/env bash
# Installs what Loadstone needs from Debian or Ubuntu: setup-system.sh run | clusters | test | guests | python
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
        openssh-server) command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] ;;
        qemu-system-x86) command -v qemu-system-x86_64 >/dev/null ;;
        qemu-utils) command -v qemu-img >/dev/null ;;
        e2fsprogs) command -v mke2fs >/dev/null || [ -x /usr/sbin/mke2fs ] || [ -x /sbin/mke2fs ] ;;
        openssh-client) command -v ssh-keygen >/dev/null ;;
        iproute2) command -v ip >/dev/null && command -v tc >/dev/null ;;
        chromium) command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ;;
        python3 | redis-server | memcached | nginx | prometheus | containerd | runc | conntrack | iptables | docker-registry | haproxy | openssl | mmdebstrap | stress-ng)
            command -v "$1" >/dev/null ;;
        *) fail "setup-system.sh has no test for the package $1; add one to has()" 2 ;;
    esac
}
# as_root COMMAND...: with root's rights; it fails where sudo requires a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then env DEBIAN_FRONTEND=noninteractive "$@"; else sudo -n env DEBIAN_FRONTEND=noninteractive "$@"; fi
}
apt_get() { logged as_root apt-get -o DPkg::Lock::Timeout=300 "$@"; }
# of_debian PACKAGE: is it known, and Debian's own? Where no package lists were ever fetched, nothing is known. grep reads to the end:
# with -q it would stop at the first match, and apt-cache would fail for want of a reader.
of_debian() { apt-cache show "$1" 2>/dev/null | grep '^Maintainer:.*debian' >/dev/null; }
is_known() { [ -n "$(apt-cache show "$1" 2>/dev/null)" ]; }
# disable SERVICE: it is not to start at the next boot. It may have a script, a unit of systemd, or both.
disable() {
    if [ -e "/etc/init.d/$1" ]; then logged as_root update-rc.d "$1" disable || return; fi
    [ -e "/lib/systemd/system/$1.service" ] && command -v systemctl >/dev/null || return 0
    logged as_root systemctl --quiet disable "$1.service"
}
stores=(memcached redis-server postgresql)
clusters=(docker.io docker-compose containerd runc containernetworking-plugins conntrack iproute2 iptables haproxy openssl)

case ${1:-run} in
    run) packages=("${stores[@]}") ;;
    clusters) packages=("${stores[@]}" "${clusters[@]}") ;;
    test)
        packages=("${stores[@]}" "${clusters[@]}" nginx prometheus docker-registry openssh-server stress-ng)
        # Ubuntu's package is a stub for a snap, which servers often cannot run; without one, tests of pages are skipped.
        if ! has chromium && command -v apt-cache >/dev/null; then
            is_known chromium || ! as_root true 2>/dev/null || apt_get update || say "tests of pages may be skipped, for want of Chromium"
            if of_debian chromium; then packages+=(chromium); fi
        fi
        ;;
    guests) packages=("${clusters[@]}" qemu-system-x86 qemu-utils mmdebstrap e2fsprogs openssh-client) ;;
    python) packages=(python3 python3-venv) ;;
    *) fail "usage: $0 run | clusters | test | guests | python" 2 ;;
esac
missing=()
for package in "${packages[@]}"; do has "$package" || missing+=("$package"); done
[ ${#missing[@]} -gt 0 ] || exit 0

line="sudo apt-get install -y --no-install-recommends ${missing[*]}"
command -v apt-get >/dev/null || fail "not installed here: ${missing[*]}
  Loadstone installs them itself on Debian and Ubuntu (there: $line); elsewhere use your system's own packages."
as_root true 2>/dev/null || fail "not installed here: ${missing[*]}; installing them needs root. Run this, then try again:
  $line"

# Debian's packages start what they install, unless this file says no. It does only as long as this script runs: one
# that a killed script left allows every start, and is replaced.
policy=/usr/sbin/policy-rc.d
mark="# The set-up of Loadstone starts no services"
read -r -a stat <"/proc/$$/stat"
allow_services() { [ -z "${policy_made:-}" ] || as_root rm -f "$policy"; }
trap allow_services EXIT
if [ ! -e $policy ] || grep -q "^$mark" $policy; then
    policy_made=yes
    as_root tee $policy >/dev/null <<EOF
#!/bin/sh
$mark
read -r stat 2>/dev/null </proc/$$/stat || exit 0
set -- \${stat##*) }
[ "\${20}" != ${stat[21]} ] || exit 101
EOF
    as_root chmod 755 $policy
fi

say "apt-get install ${missing[*]} (services are neither started nor enabled)"
install=(install -y --no-install-recommends "${missing[@]}")
if ! apt_get "${install[@]}" 2>/dev/null; then # old package lists are the usual reason
    apt_get update || fail "the package lists could not be fetched"
    apt_get "${install[@]}" || fail "could not install; to see why, run:
  $line"
fi
for package in "${missing[@]}"; do
    has "$package" || fail "$package is installed, but what is needed of it is not there. Try:
  sudo apt-get install -y --reinstall $package"
done
# Nor are they to start at the next boot; what was there before keeps its setting.
for package in "${missing[@]}"; do
    case $package in
        openssh-server) disable ssh || say "ssh may start at the next boot" ;;
        memcached | redis-server | postgresql | nginx | prometheus | docker.io | containerd | docker-registry | haproxy)
            disable "${package%.io}" || say "$package may start at the next boot" ;;
    esac
done
