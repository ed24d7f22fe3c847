#!/usr/bin/env bash
# Runs all tests in two processes beside each other: the integration tests, whose output is shown as they run, and the
# others, whose output follows. Each runs its tests serially, because many start servers and have time limits. The
# output of a process that failed comes last. Arguments are passed to `swift build`.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build --build-tests "$@"
# The bundle itself, because one `swift test` would wait for the lock of the other.
bundle="$(swift build --show-bin-path "$@")/freshetPackageTests.xctest"
[ -t 1 ] || export NO_COLOR=1
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

part() { exec "$bundle" --testing-library swift-testing --no-parallel "$@" '^IntegrationTests\.' 2>&1; }

part --skip >"$folder/others" &
others=$!
status=0
part --filter | tee "$folder/integration" || status=$?
othersStatus=0
wait "$others" || othersStatus=$?
cat "$folder/others"
if [ "$status" -ne 0 ]; then
    # Again, since the last lines are the ones that are read.
    cat "$folder/integration"
    [ "$othersStatus" -eq 0 ] || cat "$folder/others"
fi
exit $((status > othersStatus ? status : othersStatus))
