#!/usr/bin/env bash
# Runs all tests in four processes beside each other: the integration tests in two of them, by the first letter of their
# suites, the simulator, which only takes the time that is left, and the others. Each process runs its tests serially,
# because many start servers and have time limits. The output of the first is shown as it runs, that of the others
# follows, and that of those that failed comes last. Arguments are passed to `swift build`.
set -euo pipefail
cd "$(dirname "$0")/.."

swift build --build-tests "$@"
# The bundle itself, because one `swift test` would wait for the lock of the other.
bundle="$(swift build --show-bin-path "$@")/freshetPackageTests.xctest"
[ -t 1 ] || export NO_COLOR=1
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

# Arguments: the niceness, and the test runner's.
part() { exec nice -n "$1" "$bundle" --testing-library swift-testing --no-parallel "${@:2}" 2>&1; }

part 0 --filter '^IntegrationTests\.[^A-P]' >"$folder/second" &
second=$!
part 10 --filter '^SimulationTests\.' >"$folder/simulation" &
simulation=$!
part 0 --skip '^(IntegrationTests|SimulationTests)\.' >"$folder/others" &
others=$!
failed=()
part 0 --filter '^IntegrationTests\.[A-P]' | tee "$folder/first" || failed+=(first)
wait "$second" || failed+=(second)
wait "$simulation" || failed+=(simulation)
wait "$others" || failed+=(others)
cat "$folder/second" "$folder/simulation" "$folder/others"
[ ${#failed[@]} -eq 0 ] && exit 0
# Again, since the last lines are the ones that are read.
for name in "${failed[@]}"; do cat "$folder/$name"; done
for name in "${failed[@]}"; do
    grep -qE '^(✔|✘) Test run with ' "$folder/$name" ||
        echo "error: the tests of part \"$name\" ended without a summary: $(tail -n 1 "$folder/$name")"
done
exit 1
