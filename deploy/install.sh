#!/bin/sh
# Installs the program with completion for bash, zsh and fish below PREFIX (/usr/local); DESTDIR is put in front of it.
# Usage: deploy/install.sh PROGRAM
set -eu
program=${1:?usage: deploy/install.sh PROGRAM}
if [ ! -x "$program" ]; then
    echo "$program is not there: build it first, with make release" >&2
    exit 1
fi
root=${DESTDIR:-}${PREFIX:-/usr/local}

# complete SHELL FILE
complete() {
    mkdir -p "$root/share/$(dirname "$2")"
    "$program" --generate-completion-script "$1" > "$root/share/$2"
    echo "installed $root/share/$2"
}

mkdir -p "$root/bin"
install -m 755 "$program" "$root/bin/freshet"
echo "installed $root/bin/freshet"
complete bash bash-completion/completions/freshet
complete zsh zsh/site-functions/_freshet
complete fish fish/vendor_completions.d/freshet.fish
