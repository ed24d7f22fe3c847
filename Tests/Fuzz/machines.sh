#!/usr/bin/env bash
# Fuzzes the protocol machines of Sources/Core/Sessions and their header parsers with libFuzzer. Usage:
#   machines.sh [seconds, 60]
# The machines and JSON are compiled with coverage; their dependencies come from the debug build (`make build`). Inputs
# with new coverage go to .freshet/fuzz/machines; an input that breaks a rule ends the run and is kept in .freshet/fuzz.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
work=.freshet/fuzz
built=.build/debug
mkdir -p "$work/build/machines" "$work/machines"
[ -f "$built/Modules/Sessions.swiftmodule" ] || { echo "build first: make build" >&2; exit 1; }

# The package name of the debug build, without which package declarations are invisible.
package=$(grep -o -- '-package-name","[^"]*"' .build/debug.yaml | sort | uniq -c | sort -rn | head -n 1 |
    cut -d '"' -f 3)
flags=(-O -sanitize=fuzzer -parse-as-library -swift-version 6 -package-name "$package" -I "$work/build/machines"
    -I "$built/Modules" -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
    -enable-upcoming-feature InternalImportsByDefault)
for map in "$built"/*.build/module.modulemap; do flags+=(-Xcc "-fmodule-map-file=$map"); done
for include in .build/checkouts/swift-crypto/Sources/CCryptoBoringSSL{,Shims}/include; do
    flags+=(-Xcc -I -Xcc "$include")
done

echo "building …"
objects=()
for name in JSON Sessions; do
    mapfile -t sources < <(find Sources/*/"$name" -name '*.swift')
    swiftc "${flags[@]}" -wmo -emit-module -emit-module-path "$work/build/machines/$name.swiftmodule" -emit-object \
        -module-name "$name" -o "$work/build/machines/$name.o" "${sources[@]}"
    objects+=("$work/build/machines/$name.o")
done
for name in CEL JSONPatch LiveModel Crypto CryptoBoringWrapper CCryptoBoringSSL CCryptoBoringSSLShims CXKCP CXKCPShims \
    HeapModule InternalCollectionsUtilities; do
    mapfile -t -O "${#objects[@]}" objects < <(find -L "$built/$name.build" -name '*.o')
done
swiftc "${flags[@]}" -module-name MachinesFuzz Tests/Fuzz/MachinesFuzz.swift "${objects[@]}" -lstdc++ \
    -o "$work/build/fuzz-machines"

echo "fuzzing the machines for $seconds s …"
ended=0
SWIFT_BACKTRACE=enable=no "$work/build/fuzz-machines" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=4096 -print_final_stats=1 -artifact_prefix="$work/" "$work/machines" Tests/Fuzz/Corpus/machines \
    >"$work/machines.log" 2>&1 || ended=$?
if [ "$ended" -ne 0 ]; then
    grep -vE '^#[0-9]+' "$work/machines.log" | tail -n 40 >&2
    echo "the fuzzer ended with $ended; its input is named above, the log is $work/machines.log" >&2
    exit 1
fi
grep -E '^stat::(number_of_executed_units|new_units_added)|^Done' "$work/machines.log"
