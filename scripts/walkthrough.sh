#!/usr/bin/env bash
# What a new user does, in a Debian with Python alone: walkthrough.sh [FOLDER [OPTION]]. Prints the transcript with times.
# OPTION is given to `loadstone run`: --shared-ok where the machine does other work, which the times then include.
# Installs the wheel of this checkout (`make wheels`), measures a compose file, then a server that runs already. Needs
# root, debootstrap, a mirror of Debian and one of PyPI as pip finds it here. The Debian is removed at the end.
source "$(dirname "$0")/common.sh"

[ "$(id -u)" = 0 ] || fail "a root folder of its own needs root: sudo scripts/walkthrough.sh"
command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
wheel=$(ls dist/loadstone-*_"$(uname -m)".whl 2>/dev/null) || fail "dist/ has no wheel for $(uname -m): make wheels"
run="loadstone run study.yaml${2:+ $2}"
home=$(realpath -m "${1:-.build/walkthrough}") root=$(realpath -m "${1:-.build/walkthrough}")/debian
mkdir -p "$home"
trap 'rm -rf --one-file-system "$root"' EXIT

# inside [--net] SCRIPT: runs it in the Debian, in namespaces of its own; what it started ends with it.
inside() {
    local net=() settings=(HOME=/root TERM=dumb COLUMNS=110 LANG=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1)
    [ "$1" = --net ] && net=(--net) && shift
    unshare --mount --pid --uts --fork --kill-child "${net[@]}" bash -c '
        mount --make-rprivate / && mount --bind "$0" "$0" && cd "$0"
        mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev && hostname debian
        mkdir -p .old && pivot_root . .old && umount -l /.old && cd /root && exec "${@:2}" bash -c "$1"
    ' "$root" "$1" env -i "${settings[@]}" PATH=/root/env/bin:/usr/sbin:/usr/bin:/sbin:/bin
}

shown='
    show() { # show COMMAND: as typed, its output, how long it took
        local began=$EPOCHREALTIME code=0
        printf "\$ %s\n" "$1"; eval "$1" 2>&1 || code=$?
        awk -v a="$began" -v b="$EPOCHREALTIME" -v c=$code "BEGIN {printf \"[%.1f s%s]\n\n\", b - a, c ? \", exit \" c : \"\"}"
    }
'

if [ ! -x "$root/usr/bin/python3" ]; then
    say "Debian with Python alone -> $root (minutes)"
    logged debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    python3 -m pip config list 2>/dev/null | sed -n "s/^\(global\|user\)\.\([a-z-]*\)='\(.*\)'/\2 = \3/p" |
        sed '1i [global]' >"$root/etc/pip.conf"
fi
cp "$wheel" "$root/root/"

echo "== install"
inside "$shown"'
    show "python3 --version"
    show "python3 -m venv env"
    show "pip install --quiet ./loadstone-*.whl"
    show "loadstone --version"'

# Webdis (https://webd.is) is HTTP in front of Redis. Its image and that of Redis are made of Debian's packages here.
say "Docker, Redis and Webdis from Debian's packages"
logged inside 'export DEBIAN_FRONTEND=noninteractive; printf "#!/bin/sh\nexit 101\n" >/usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d; apt-get update -qq
    apt-get install -y -qq --no-install-recommends docker.io docker-compose iproute2 iptables redis-server webdis'
mkdir -p "$root/root/stack"
cp scripts/walkthrough/* "$root/root/stack/"
echo "== a compose file"
inside --net "$shown"'
    ip link set lo up
    dockerd >/root/dockerd.log 2>&1 &
    until docker info >/dev/null 2>&1; do sleep 0.5; done
    tar -C / --one-file-system --exclude="usr/bin/docker*" --exclude="usr/bin/containerd*" -c bin lib lib64 usr/bin \
        usr/lib64 usr/lib/"$(uname -m)"-linux-gnu etc/passwd etc/group etc/ld.so.cache |
        docker import -c "CMD [\"redis-server\", \"--protected-mode\", \"no\", \"--save\", \"\"]" - redis:7.0 >/dev/null
    docker tag redis:7.0 nicolas/webdis:0.1.9
    cd stack
    show "cat docker-compose.yml"
    show "loadstone init docker-compose.yml --p99 200ms"
    show "loadstone doctor study.yaml"
    show "'"$run"'"
    show "loadstone report"
    show "loadstone down"
    kill %1; wait %1 || true'
cp -r "$root/root/stack/results" "$home/stack"

echo "== a server that runs already"
inside "$shown"'
    mkdir server && cd server && mkdir site && head -c 20000 /dev/urandom | base64 >site/page.html
    (cd site && exec taskset -c 0 python3 -m http.server 8000 >/dev/null 2>&1) &
    sleep 1
    show "loadstone init http://127.0.0.1:8000/page.html --p99 50ms"
    show "cat study.yaml"
    show "'"$run"'"
    show "loadstone history"'
cp -r "$root/root/server/results" "$home/server"
say "reports: $(ls -d "$home"/*/*/*/report/index.html | xargs)"
