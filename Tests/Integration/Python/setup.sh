#!/usr/bin/env bash
# Makes .venv-clients: the Python clients that the integration tests run, from PyPI. Does nothing when it is there with
# what requirements.txt asks for.
set -euo pipefail
cd "$(dirname "$0")/../../.."
requirements=Tests/Integration/Python/requirements.txt
venv=.venv-clients
stamp=$venv/requirements.txt
exec 9<"$requirements"
flock 9
packages() { grep -v '^#' "$1" 2>/dev/null || true; }
[ -e "$stamp" ] && [ "$(packages "$requirements")" = "$(packages "$stamp")" ] && exit 0
rm -rf "$venv"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "installing Python clients into $venv …"
if python3 -m venv "$venv" >"$log" 2>&1 && "$venv/bin/pip" install -q -r "$requirements" >>"$log" 2>&1; then
    cp "$requirements" "$stamp"
else
    tail -n 5 "$log" >&2
    echo "error: the Python clients of the tests could not be installed from PyPI (python3 with venv is needed)" >&2
    exit 1
fi
