#!/usr/bin/env bash
# Fuzzes the GraphQL, CEL and JSON parsers with libFuzzer, which comes with the Swift toolchain. Usage:
#   run.sh [seconds each, 60] [graphql|cel|json …]
# Inputs with new coverage go to .freshet/fuzz/PARSER (only the small corpus beside this file is in the repository). An
# input that crashes, hangs or does not survive a round trip ends the run and is kept there as crash-…; add it to
# Corpus/PARSER, which the parsers' tests read.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
parsers=("$@")
[ ${#parsers[@]} -gt 0 ] || parsers=(graphql cel json)
work=.freshet/fuzz
mkdir -p "$work/build"

declare -A module=([graphql]=GraphQLLanguage [cel]=CEL [json]=JSON)
declare -A harness=([graphql]=GraphQLFuzz [cel]=CELFuzz [json]=JSONFuzz)
flags=(-O -sanitize=fuzzer -parse-as-library -swift-version 6 -package-name freshet -I "$work/build"
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
    -enable-upcoming-feature InternalImportsByDefault)

for parser in "${parsers[@]}"; do
    name=${module[$parser]}
    echo "building $parser …"
    mapfile -t sources < <(find Sources/*/"$name" -name '*.swift')
    swiftc "${flags[@]}" -wmo -emit-module -emit-module-path "$work/build/$name.swiftmodule" -emit-object \
        -module-name "$name" -o "$work/build/$name.o" "${sources[@]}"
    swiftc "${flags[@]}" -module-name "${harness[$parser]}" "Tests/Fuzz/${harness[$parser]}.swift" \
        "$work/build/$name.o" -o "$work/build/fuzz-$parser"
    mkdir -p "$work/$parser"
    echo "fuzzing $parser for $seconds s …"
    # libFuzzer exits with 0 at the time limit and with another code if an input broke the parser.
    ended=0
    SWIFT_BACKTRACE=enable=no "$work/build/fuzz-$parser" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=4096 -print_final_stats=1 -artifact_prefix="$work/" "$work/$parser" "Tests/Fuzz/Corpus/$parser" \
        >"$work/$parser.log" 2>&1 || ended=$?
    if [ "$ended" -ne 0 ]; then
        grep -vE '^#[0-9]+' "$work/$parser.log" | tail -n 40 >&2
        echo "$parser: the fuzzer ended with $ended; its input is named above, the log is $work/$parser.log" >&2
        exit 1
    fi
    grep -E '^stat::(number_of_executed_units|new_units_added)|^Done' "$work/$parser.log"
done
