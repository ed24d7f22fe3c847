import JSON
import SeededRandom
import TestSupport
import Testing

@testable import JSONPatch

@Suite struct DifferenceTests {
    private func patch(_ old: String, _ new: String, at pointer: String = "") -> String? {
        JSONPatch.difference(
            from: Array(old.utf8), to: Array(new.utf8), at: pointer, limits: .init(bytesMax: 1 << 20)
        ).map { String(decoding: $0, as: UTF8.self) }
    }

    /// So that the whole result is never shorter.
    private static let filler = String(repeating: "x", count: 2_000)

    private func object(_ members: String) -> String { #"{"filler":"\#(Self.filler)",\#(members)}"# }

    @Test(arguments: [
        (#""a":1"#, #""a":1"#, "[]"),
        (#""a":1"#, #""a":2"#, #"[{"op":"replace","path":"/a","value":2}]"#),
        (#""a":1,"b":2"#, #""a":1"#, #"[{"op":"remove","path":"/b"}]"#),
        (#""a":1"#, #""a":1,"b":[]"#, #"[{"op":"add","path":"/b","value":[]}]"#),
        (
            #""a":1.10"#, #""a":12345678901234567890.50"#,
            #"[{"op":"replace","path":"/a","value":12345678901234567890.50}]"#
        ),
        (#""a/b~c":1"#, #""a/b~c":2"#, #"[{"op":"replace","path":"/a~1b~0c","value":2}]"#),
        (#""a\"\u002fb":1"#, #""a\"\u002fb":2"#, #"[{"op":"replace","path":"/a\"~1b","value":2}]"#),
        (#""a":[1,2,3]"#, #""a":[1,3]"#, #"[{"op":"remove","path":"/a/1"}]"#),
        (#""a":[1,3]"#, #""a":[1,2,3]"#, #"[{"op":"add","path":"/a/1","value":2}]"#),
        (
            #""a":[{"id":1,"t":"x"},{"id":2,"t":"y"}]"#, #""a":[{"id":1,"t":"x"},{"id":2,"t":"z"}]"#,
            #"[{"op":"replace","path":"/a/1/t","value":"z"}]"#
        ),
        (
            #""a":[{"id":1,"t":"one"},{"id":2,"t":"two"},{"id":3,"t":"three"}]"#,
            #""a":[{"id":3,"t":"three"},{"id":1,"t":"one"},{"id":2,"t":"TWO"}]"#,
            #"[{"op":"move","from":"/a/2","path":"/a/0"},{"op":"replace","path":"/a/2/t","value":"TWO"}]"#
        ),
        (
            #""a":[{"id":1},{"id":2},{"id":3},{"id":4}]"#, #""a":[{"id":2},{"id":3},{"id":4},{"id":1}]"#,
            #"[{"op":"move","from":"/a/0","path":"/a/3"}]"#
        ),
        (
            #""a":["pppppppppppppppppppp","qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq","rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr","s"]"#,
            #""a":["qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq","rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr","s","pppppppppppppppppppp","n"]"#,
            #"[{"op":"move","from":"/a/0","path":"/a/3"},{"op":"add","path":"/a/4","value":"n"}]"#
        ),
        (#""a":{"b":{"c":1}}"#, #""a":{"b":[1]}"#, #"[{"op":"replace","path":"/a/b","value":[1]}]"#),
    ]) func patchesAreTheSmallOnes(old: String, new: String, expected: String) {
        #expect(patch(object(old), object(new)) == expected)
    }

    @Test func thePointerStandsBeforeEveryPath() {
        #expect(
            patch(object(#""a":1"#), object(#""a":2"#), at: "/data")
                == #"[{"op":"replace","path":"/data/a","value":2}]"#)
    }

    @Test func theWholeResultIsSentWhereItIsNoLonger() {
        #expect(patch(#"{"a":1}"#, #"{"a":2}"#) == nil)
        #expect(patch("[]", "[1]") == nil)
    }

    @Test(arguments: ["", "{", #"{"a":1,"a":2}"#, "[1,]", "[1 2]", #"{"a"}"#, #"["a]"#, "1 2", #""\"#])
    func invalidJSONHasNoPatch(text: String) {
        let good = object(#""a":1"#)
        #expect(patch(text, good) == nil && patch(good, text) == nil)
    }

    @Test func boundsAreKept() {
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(patch(object(#""a":\#(deep)"#), object(#""a":1"#)) == nil)
        let (old, new) = (Array(object(#""a":1"#).utf8), Array(object(#""a":2"#).utf8))
        #expect(JSONPatch.difference(from: old, to: new, limits: .init(bytesMax: 100)) == nil)
        var limits = JSONPatch.Limits(bytesMax: 1 << 20)
        limits.valuesMax = 2
        #expect(JSONPatch.difference(from: old, to: new, limits: limits) == nil)
        // Reversing thousands of elements would be thousands of moves.
        let numbers = (0..<3_000).map(String.init)
        #expect(patch("[\(numbers.joined(separator: ","))]", "[\(numbers.reversed().joined(separator: ",")),1]") == nil)
    }

    @Test(arguments: 0..<40 * UInt64(FuzzLength.factor)) func everyPatchAppliedIsTheFullResult(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var (patches, whole) = (0, 0)
        for _ in 0..<60 {
            let old = RandomJSON.value(depth: 4, &random)
            let new = RandomJSON.changed(old, &random)
            let (oldText, newText) = (JSONWriter.compact(old), JSONWriter.compact(new))
            guard let text = JSONPatch.difference(from: oldText, to: newText, limits: .init(bytesMax: 1 << 20)) else {
                whole += 1
                continue
            }
            patches += 1
            #expect(text.count < newText.count, "seed \(seed)")
            let applied = try JSONPatch.apply(JSONParser.parse(text), to: JSONParser.parse(oldText))
            #expect(
                applied == (try JSONParser.parse(newText)),
                "seed \(seed): \(old) → \(new) by \(String(decoding: text, as: UTF8.self))")
        }
        #expect(patches > 0 && whole < 60, "seed \(seed)")
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func everyOrderIsReached(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let old = (0..<Int.random(in: 0...30, using: &random)).map { AnyHashable($0) }
        var new = old.shuffled(using: &random).prefix(Int.random(in: 0...30, using: &random)).map { $0 }
        for added in 100..<100 + Int.random(in: 0...9, using: &random) {
            new.insert(AnyHashable(added), at: Int.random(in: 0...new.count, using: &random))
        }
        let diff = try #require(ArrayDiff(old: old, new: new))
        var work = old
        for step in diff.steps {
            switch step {
            case .remove(let place): work.remove(at: place)
            case .add(let place, let element): work.insert(new[element], at: place)
            case .move(let from, let to): work.insert(work.remove(at: from), at: to)
            }
        }
        #expect(work == new, "seed \(seed)")
        #expect(diff.pairs.allSatisfy { old[$0.old] == new[$0.new] }, "seed \(seed)")
    }
}

/// Values as results have them: lists of rows with and without ids, nested objects, odd names and numbers.
enum RandomJSON {
    private static let names = ["id", "title", "a/b", "~", "ü", "", "tags", "rows", "\"q\"", "n"]

    static func value(depth: Int, _ random: inout SeededRandom) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 5), using: &random) {
        case 0: return .int(Int64.random(in: -3...3, using: &random))
        case 1: return .double(Double(Int.random(in: -9...9, using: &random)) / 4)
        case 2:
            return .string(
                ["", "a", "ä/~\"\\\n", String(repeating: "long ", count: 9)].randomElement(using: &random) ?? "")
        case 3: return .bool(Bool.random(using: &random))
        case 4: return .null
        case 5, 6:
            var object = JSONObject()
            for name in names.shuffled(using: &random).prefix(Int.random(in: 0...6, using: &random)) {
                object[name] = value(depth: depth - 1, &random)
            }
            return .object(object)
        case 7: return .array((0..<Int.random(in: 0...7, using: &random)).map { _ in value(depth: depth - 1, &random) })
        default:
            return .array(
                (0..<Int.random(in: 0...9, using: &random)).map { number in
                    ["id": .int(Int64(number)), "row": value(depth: depth - 2, &random)]
                })
        }
    }

    static func changed(_ old: JSONValue, _ random: inout SeededRandom) -> JSONValue {
        switch old {
        case .object(var object):
            for entry in object.entries where Int.random(in: 0..<3, using: &random) == 0 {
                object[entry.key] = Bool.random(using: &random) ? changed(entry.value, &random) : JSONValue?.none
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                object[names.randomElement(using: &random) ?? ""] = value(depth: 2, &random)
            }
            return .object(object)
        case .array(var elements):
            switch Int.random(in: 0..<5, using: &random) {
            case 0: elements.shuffle(using: &random)
            case 1: if !elements.isEmpty { elements.remove(at: Int.random(in: 0..<elements.count, using: &random)) }
            case 2: elements.insert(value(depth: 1, &random), at: Int.random(in: 0...elements.count, using: &random))
            case 3: if let last = elements.popLast() { elements.insert(last, at: 0) }
            default: break
            }
            return .array(elements.map { Int.random(in: 0..<4, using: &random) == 0 ? changed($0, &random) : $0 })
        default: return value(depth: 1, &random)
        }
    }
}
