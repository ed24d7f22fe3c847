import FoundationEssentials
import JSON
import TestSupport
import Testing

/// The vectors in `conformance/json`: a selection of JSONTestSuite, read in place.
struct JSONConformanceTests {
    /// The `either` vectors, which RFC 8259 leaves open, that this parser accepts. It refuses all others.
    private static let acceptedOfEither: Set<String> = [
        // Too small for a double: becomes zero.
        "i_number_double_huge_neg_exp", "i_number_real_underflow",
        // Integers beyond 64 bits: become the nearest double.
        "i_number_too_big_neg_int", "i_number_too_big_pos_int", "i_number_very_big_negative_int",
    ]

    @Test(.vectors("json/parsing.jsonl")) func vectorsOfJSONTestSuitePass() throws {
        let cases = try ConformanceVectors.lines(of: "json/parsing.jsonl")
        var failed: [String] = []
        var either: Set<String> = []
        var eitherAccepted: Set<String> = []
        for line in cases {
            let vector = try JSONParser.parse(line)
            let name = try #require(vector["name"]?.stringValue)
            let expect = try #require(vector["expect"]?.stringValue)
            let input = try Self.input(of: vector)
            let isAccepted = (try? JSONParser.parse(input)) != nil
            switch expect {
            case "accept": if !isAccepted { failed.append(name) }
            case "reject": if isAccepted { failed.append(name) }
            case "either":
                either.insert(name)
                if isAccepted { eitherAccepted.insert(name) }
            default: failed.append("\(name): unknown expectation \(expect)")
            }
        }
        print("JSON conformance: \(cases.count - failed.count) passed, \(failed.count) failed of \(cases.count)")
        #expect(failed == [])
        #expect(eitherAccepted == Self.acceptedOfEither.intersection(either))
    }

    private static func input(of vector: JSONValue) throws -> [UInt8] {
        if let text = vector["base64"]?.stringValue { return try bytes(base64: text) }
        let unit = try bytes(base64: #require(vector["repeat"]?["unit"]?.stringValue))
        let count = try #require(vector["repeat"]?["count"]?.intValue)
        let suffix = try bytes(base64: #require(vector["repeat"]?["suffix"]?.stringValue))
        return (0..<count).flatMap { _ in unit } + suffix
    }

    private static func bytes(base64: String) throws -> [UInt8] {
        Array(try #require(Data(base64Encoded: base64)))
    }
}
