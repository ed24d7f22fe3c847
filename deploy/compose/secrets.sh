#!/usr/bin/env bash
# Creates the secrets of compose.yaml in deploy/compose/secrets with random values. Existing ones are kept.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p secrets
chmod 700 secrets
# Containers read the files as another user, so the folder's mode protects them, not the files'.
umask 022

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
make_secret() {
    [ -s "secrets/$1" ] || printf '%s' "$2" >"secrets/$1"
}
make_secret postgres_password "$(random)"
make_secret redis_password "$(random)"
make_secret admin_token "$(random)"
make_secret grafana_password "$(random)"
make_secret postgres_url "postgresql://freshet:$(cat secrets/postgres_password)@postgres:5432/freshet"
make_secret redis_url "redis://:$(cat secrets/redis_password)@redis:6379"
echo "secrets in $(pwd)/secrets"
