import CEL
import Testing

@Suite struct MapValueTests {
    @Test(arguments: [0, 1, 8, 9, 100])
    func stringKeysAreFoundAtEverySize(count: Int) {
        let map = MapValue((0..<count).map { ("key\($0)", .int(Int64($0))) })
        #expect(map.count == count)
        for number in 0..<count {
            #expect(map["key\(number)"]?.celEquals(.int(Int64(number))) == true)
            #expect(map.value(forKey: .string("key\(number)")) != nil)
            #expect(map.key(at: number).celEquals(.string("key\(number)")))
        }
        #expect(map["key"] == nil)
        #expect(map.value(forKey: .int(1)) == nil)
    }

    @Test(arguments: [2, 20])
    func theLastOfEqualKeysCounts(count: Int) {
        let map = MapValue((0..<count).map { ("k\($0 / 2)", .int(Int64($0))) })
        #expect(map.count == count / 2)
        #expect(map["k0"]?.celEquals(.int(1)) == true)
    }

    @Test func numbersOfAllTypesFindEqualKeys() throws {
        let map = try MapValue(entries: [(.int(1), .string("a")), (.string("s"), .string("b")), (.bool(true), .null)])
        #expect(map["s"]?.celEquals(.string("b")) == true)
        #expect(map.value(forKey: .double(1))?.celEquals(.string("a")) == true)
        #expect(map.value(forKey: .uint(1))?.celEquals(.string("a")) == true)
        #expect(map["t"] == nil)
        #expect(map.entries.count == 3)
        #expect(throws: MapValue.EntryProblem.repeatedKey) {
            try MapValue(entries: [(.int(1), .null), (.uint(1), .null)])
        }
        #expect(throws: MapValue.EntryProblem.unsupportedKeyType) { try MapValue(entries: [(.null, .null)]) }
        #expect(throws: MapValue.EntryProblem.repeatedKey) {
            try MapValue(entries: [(.string("a"), .null), (.string("a"), .null)])
        }
    }

    @Test func keysAreCodePointsNotCharacters() {
        let map = MapValue([("\u{E9}", .int(1)), ("e\u{301}", .int(2))])
        #expect(map.count == 2)
        #expect(map["e\u{301}"]?.celEquals(.int(2)) == true)
        let large = MapValue((0..<20).map { ("\($0)", .null) } + [("\u{E9}", .int(1)), ("e\u{301}", .int(2))])
        #expect(large.count == 22)
        #expect(large["\u{E9}"]?.celEquals(.int(1)) == true)
    }

    @Test func equalityIgnoresOrder() {
        let one = Value.map(MapValue([("a", .int(1)), ("b", .int(2))]))
        let other = Value.map(MapValue([("b", .uint(2)), ("a", .double(1))]))
        #expect(one.celEquals(other))
    }
}
