#!/usr/bin/env bash
# Installs the Debian packages that the build, `freshet dev` and the tests need. Does nothing when all are there.
# Arguments add packages for other commands: `cluster` (freshet cluster, its test), `nginx` (the test of deploy/nginx),
# `generate` (tsc, to which tests give generated TypeScript), `page` (the browser that tests the page), `clients`
# (clients in Python that tests run), `prometheus` (the test of deploy/prometheus and deploy/grafana), `check` (make
# deploy-check), `peers` (the servers that make bench compares with Freshet).
set -euo pipefail

packages=(libhiredis-dev libpq-dev libsqlite3-dev openssl pkg-config postgresql redis-server zlib1g-dev)
for part in "$@"; do
    case "$part" in
        cluster) packages+=(haproxy) ;;
        nginx) packages+=(nginx-light) ;;
        generate) packages+=(node-typescript nodejs) ;;
        page) packages+=(chromium) ;;
        prometheus) packages+=(prometheus) ;;
        clients) packages+=(python3 python3-venv) ;;
        peers) packages+=(nginx-light libnginx-mod-nchan nats-server) ;;
        check) packages+=(haproxy nginx-light prometheus python3 python3-venv systemd) ;;
        *) echo "error: setup.sh does not know $part; its first lines list what it knows" >&2; exit 2 ;;
    esac
done
missing=()
for package in "${packages[@]}"; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
        missing+=("$package")
    fi
done

if ! command -v swift >/dev/null; then
    echo "error: swift is not installed (Swift 6.2 or newer): https://www.swift.org/install/linux/" >&2
    exit 1
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "error: missing: ${missing[*]}." \
        "There is no apt-get here; install them with the system's own package manager." >&2
    exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "error: missing: ${missing[*]}. Install them as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    sudo=(sudo)
fi
echo "installing ${missing[*]} …"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The packages start servers of their own; policy-rc.d keeps them from doing so. Freshet starts private ones.
policy=/usr/sbin/policy-rc.d
made_policy=no
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
    "${sudo[@]}" chmod +x "$policy"
    made_policy=yes
fi
status=0
{ "${sudo[@]}" apt-get update -qq && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 || status=$?
[ "$made_policy" = yes ] && "${sudo[@]}" rm -f "$policy"
if [ "$status" -ne 0 ]; then
    tail -n 20 "$log" >&2
    echo "error: apt-get could not install ${missing[*]}" >&2
    exit 1
fi
