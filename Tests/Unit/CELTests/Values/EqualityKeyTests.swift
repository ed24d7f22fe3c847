import CEL
import Testing

@Suite struct EqualityKeyTests {
    private static let values: [Value] =
        [0, 1, -1, 7, .max, .min, 9_007_199_254_740_993, 9_007_199_254_740_992].map(Value.int)
        + [0, 1, 7, .max, UInt64(Int64.max) + 1, 9_007_199_254_740_993].map(Value.uint)
        + [
            0, -0.0, 1, 7, 1.5, -1, 0x1p63, 0x1p64, -0x1p63, 9_007_199_254_740_992, 1e300, .infinity, -.infinity,
            .leastNonzeroMagnitude, 18_446_744_073_709_549_568,
        ].map(Value.double)
        + ["", "1", "a", "\u{E9}", "e\u{301}", "true", "null"].map(Value.string)
        + [
            .null, .bool(true), .bool(false), .bytes([]), .bytes([97]), .duration(DurationValue(nanoseconds: 1)),
            .type(TypeValue(name: "int")), .type(TypeValue(name: "list")),
        ]
        + [TimestampValue(seconds: 0), TimestampValue(seconds: 0, nanoseconds: 1)].compactMap {
            $0.map(Value.timestamp)
        }

    @Test func keysAreEqualWhenValuesAre() throws {
        for left in Self.values {
            let leftKey = try #require(EqualityKey(left))
            for right in Self.values {
                let rightKey = try #require(EqualityKey(right))
                #expect((leftKey == rightKey) == left.celEquals(right), "\(left) and \(right)")
                if leftKey == rightKey { #expect(leftKey.hashValue == rightKey.hashValue) }
            }
        }
    }

    @Test func numbersShareKeysAcrossTypes() {
        #expect(EqualityKey(.int(1)) == EqualityKey(.uint(1)))
        #expect(EqualityKey(.int(1)) == EqualityKey(.double(1)))
        #expect(EqualityKey(.uint(1 << 63)) == EqualityKey(.double(0x1p63)))
        #expect(EqualityKey(.int(1)) != EqualityKey(.string("1")))
    }

    @Test func someValuesHaveNoKey() {
        #expect(EqualityKey(.double(.nan)) == nil)
        #expect(EqualityKey(.list([])) == nil)
        #expect(EqualityKey(.map(.empty)) == nil)
    }

    @Test func equalityIsSymmetric() {
        for left in Self.values + [.list([.int(1)]), .list([.double(1)]), .map(.empty), .double(.nan)] {
            for right in Self.values + [.list([.uint(1)]), .map(MapValue(["a": .null]))] {
                #expect(left.celEquals(right) == right.celEquals(left))
            }
        }
    }
}
