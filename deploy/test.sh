#!/usr/bin/env bash
# Runs all tests in at most five processes beside each other: the integration tests in three of them, by the first
# letter of their suites, since they mostly wait, the simulator, which only takes the time that is left, and the others,
# of which the first process that ends takes some. Each process runs its tests serially, because many start servers and
# have time limits. The output of the first is shown as it runs, that of the others follows, and that of those that
# failed comes last. Arguments are passed to `swift build`.
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

declare -A running
start() {
    part "${@:2}" >"$folder/$1" &
    running[$1]=$!
}
languages='(ArchitectureTests|CodeGenerationTests|ConformanceTests|DocsTests|LanguageTests)'
start second 0 --filter '^IntegrationTests\.[J-R]'
start third 0 --filter '^IntegrationTests\.[^A-R]'
start simulation 10 --filter '^SimulationTests\.'
start others 0 --skip "^(IntegrationTests|SimulationTests|$languages)\."
{
    tail -f --pid="${running[third]}" /dev/null
    part 0 --filter "^$languages\."
} >"$folder/languages" &
running[languages]=$!
failed=()
part 0 --filter '^IntegrationTests\.[A-I]' | tee "$folder/first" || failed+=(first)
for name in second third simulation others languages; do
    wait "${running[$name]}" || failed+=("$name")
    cat "$folder/$name"
done
[ ${#failed[@]} -eq 0 ] && exit 0
# Again, since the last lines are the ones that are read.
for name in "${failed[@]}"; do cat "$folder/$name"; done
for name in "${failed[@]}"; do
    grep -qE '^(✔|✘) Test run with ' "$folder/$name" ||
        echo "error: the tests of part \"$name\" ended without a summary: $(tail -n 1 "$folder/$name")"
done
exit 1
