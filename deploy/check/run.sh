#!/usr/bin/env bash
# Checks everything in deploy/. Programs come from Debian (deploy/setup.sh check) and PyPI, the latter into
# .venv-deploy. Checks whose tool is missing are skipped and reported at the end.
#
#   deploy/check/run.sh [--strict]     --strict: skipped checks fail, as in CI
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=.venv-deploy
stamp=$venv/requirements.txt
if ! cmp -s deploy/check/requirements.txt "$stamp"; then
    rm -rf "$venv"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    echo "installing the checkers into $venv …"
    if python3 -m venv "$venv" >"$log" 2>&1 &&
        "$venv/bin/pip" install -q -r deploy/check/requirements.txt >>"$log" 2>&1; then
        cp deploy/check/requirements.txt "$stamp"
    else
        tail -n 5 "$log" >&2
        echo "error: the checkers could not be installed from PyPI" >&2
        exit 1
    fi
fi
[ "${CI:-}" = true ] && set -- --strict "$@"
exec "$venv/bin/python" deploy/check/check.py "$@"
