import Testing

@testable import JSON

struct JSONValueTests {
    @Test func accessorsConvertOnlyWithoutLoss() throws {
        let value: JSONValue = ["s": "x", "i": 3, "d": 2.5, "w": 2.0, "b": true, "n": nil, "a": [1, 2], "o": ["k": 1]]
        #expect(value["s"]?.stringValue == "x")
        #expect(value["i"]?.intValue == 3)
        #expect(value["i"]?.doubleValue == 3)
        #expect(value["d"]?.intValue == nil)
        #expect(value["w"]?.intValue == 2)
        #expect(JSONValue.double(1e300).intValue == nil)
        #expect(JSONValue.double(.nan).intValue == nil)
        #expect(value["b"]?.boolValue == true)
        #expect(value["n"]?.isNull == true)
        #expect(value["missing"] == nil)
        #expect(value["a"]?[1] == 2)
        #expect(value["a"]?[2] == nil)
        #expect(value["a"]?[-1] == nil)
        #expect(value["o"]?.objectValue?["k"] == 1)
        #expect(value["s"]?["k"] == nil)
        #expect(value["s"]?.boolValue == nil)
    }

    @Test(arguments: [3, 40])
    func objectsChangeLikeDictionariesAndKeepTheirOrder(count: Int) throws {
        var object = JSONObject((0..<count).map { ("k\($0)", .int(Int64($0))) })
        #expect(object.count == count)
        #expect(Array(object.keys) == (0..<count).map { "k\($0)" })
        object["k1"] = "new"
        object["k0"] = nil
        object["absent"] = nil
        object["added"] = true
        #expect(object.count == count)
        #expect(object["k1"] == "new")
        #expect(object["k0"] == nil)
        #expect(!object.contains("k0"))
        #expect(object["k2"] == 2)
        #expect(object.entries.last?.key == "added")
        #expect(object.map(\.key).first == "k1")
        for key in Array(object.keys) { object[key] = nil }
        #expect(object.isEmpty)
        #expect(object == [:])
    }

    @Test func equalityIsByBytesAndIgnoresOrder() throws {
        // One text to Swift's String, two to JSON.
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        #expect(JSONValue.string(composed) != .string(decomposed))
        var object: JSONObject = [composed: 1, decomposed: 2]
        #expect(object.count == 2)
        for index in 0..<20 { object["k\(index)"] = nil ?? .int(Int64(index)) }
        #expect(object[composed] == 1)
        #expect(object[decomposed] == 2)

        let left: JSONValue = ["a": 1, "b": [2, nil]]
        let right: JSONValue = ["b": [2, nil], "a": 1]
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(left != ["a": 1, "b": [nil, 2]])
        #expect(left != ["a": 1])
        #expect(JSONValue.int(1) != .double(1))
        #expect(Set<JSONValue>([left, right, .string(composed), .string(decomposed)]).count == 3)
    }
}
