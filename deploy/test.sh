#!/usr/bin/env bash
# Runs all tests: the integration tests, and the others beside them, each part serially, because many tests start
# servers and have time limits. The output of the others follows at the end, that of a part that failed last.
# Arguments are passed to `swift build`.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build --build-tests "$@"
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

# The bundle itself, because two `swift test` of one build folder disturb each other.
bundle=$(swift build --show-bin-path "$@")/freshetPackageTests.xctest
part() { "$bundle" --testing-library swift-testing --no-parallel "$@"; }

part --skip '^IntegrationTests\.' >"$folder/others" 2>&1 &
others=$!
status=0
part --filter '^IntegrationTests\.' 2>&1 | tee "$folder/integration" || status=$?
if ! wait "$others"; then
    cat "$folder/others"
    exit 1
fi
cat "$folder/others"
if [ "$status" -ne 0 ]; then
    cat "$folder/integration"
    exit "$status"
fi
