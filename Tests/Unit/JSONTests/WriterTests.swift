import Testing

@testable import JSON

struct JSONWriterTests {
    private func canonical(_ value: JSONValue) -> String {
        String(decoding: JSONWriter.canonical(value), as: UTF8.self)
    }

    /// The samples of RFC 8785, appendix B, and the borders of the layouts.
    @Test(
        arguments: [
            (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"), (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"), (0x7FEF_FFFF_FFFF_FFFF, "1.7976931348623157e+308"),
            (0xFFEF_FFFF_FFFF_FFFF, "-1.7976931348623157e+308"), (0x4340_0000_0000_0000, "9007199254740992"),
            (0xC340_0000_0000_0000, "-9007199254740992"), (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44B5_2D02_C7E1_4AF5, "9.999999999999997e+22"), (0x44B5_2D02_C7E1_4AF6, "1e+23"),
            (0x44B5_2D02_C7E1_4AF7, "1.0000000000000001e+23"), (0x444B_1AE4_D6E2_EF4E, "999999999999999700000"),
            (0x444B_1AE4_D6E2_EF4F, "999999999999999900000"), (0x444B_1AE4_D6E2_EF50, "1e+21"),
            (0x3EB0_C6F7_A0B5_ED8C, "9.999999999999997e-7"), (0x3EB0_C6F7_A0B5_ED8D, "0.000001"),
            (0x41B3_DE43_5555_5553, "333333333.3333332"), (0x41B3_DE43_5555_5554, "333333333.33333325"),
            (0x41B3_DE43_5555_5555, "333333333.3333333"), (0x41B3_DE43_5555_5556, "333333333.3333334"),
            (0x41B3_DE43_5555_5557, "333333333.33333343"), (0xBECB_F647_612F_3696, "-0.0000033333333333333333"),
            (0x4314_3FF3_C1CB_0959, "1424953923781206.2"), (0x3FF0_0000_0000_0000, "1"), (0x3FB9_9999_9999_999A, "0.1"),
            (0xC059_0000_0000_0000, "-100"),
        ] as [(UInt64, String)])
    func canonicalDoublesFollowRFC8785(bits: UInt64, text: String) throws {
        #expect(canonical(.double(Double(bitPattern: bits))) == text)
    }

    @Test func compactNumbersKeepTheirKind() throws {
        let values: [(JSONValue, String)] = [
            (.int(1), "1"), (.double(1), "1.0"), (.double(-0.0), "-0.0"), (.double(1e20), "100000000000000000000.0"),
            (.double(1e21), "1e+21"), (.int(.min), "-9223372036854775808"), (.int(.max), "9223372036854775807"),
            (.double(.infinity), "null"), (.double(.nan), "null"),
        ]
        for (value, text) in values { #expect(value.description == text) }
    }

    @Test func escapesOnlyWhatMustBe() throws {
        let text = "\"\\/\u{8}\u{9}\u{A}\u{C}\u{D}\u{0}\u{1F}\u{7F}é\u{2028}🌾"
        let expected = #""\"\\/\b\t\n\f\r\u0000\u001f"# + "\u{7F}é\u{2028}🌾\""
        #expect(JSONValue.string(text).description == expected)
        var bytes = Array("x".utf8)
        JSONWriter.appendEscaped("a\"b", to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == #"x"a\"b""#)
    }

    @Test func canonicalSortsKeysByBytes() throws {
        let value: JSONValue = [
            "b": 1, "a": ["z": nil, "y": [true, 1.0, -0.0]], "": 2, "é": 3, "z": 4, "\u{10000}": 5, "\u{FFFF}": 6,
            "B": 7,
        ]
        #expect(
            canonical(value)
                == """
                {"":2,"B":7,"a":{"y":[true,1,0],"z":null},"b":1,"z":4,"é":3,"\u{FFFF}":6,"\u{10000}":5}
                """
        )
    }

    @Test func appendsToABuffer() throws {
        var bytes = Array("data: ".utf8)
        JSONWriter.append(["b": 1, "a": 2], to: &bytes, canonical: true)
        JSONWriter.append([nil], to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == #"data: {"a":2,"b":1}[null]"#)
    }

    @Test func generatedValuesSurviveARoundTrip() throws {
        print("seed \(ValueGenerator.seed)")
        var random = ValueGenerator(seed: ValueGenerator.seed)
        for _ in 0..<3_000 {
            let value = random.value(depth: 4)
            #expect(try JSONParser.parse(JSONWriter.compact(value)) == value)
            let canonical = JSONWriter.canonical(value)
            #expect(JSONWriter.canonical(try JSONParser.parse(canonical)) == canonical)
            #expect(JSONWriter.canonical(Self.shuffled(value, &random)) == canonical)
        }
        for _ in 0..<20_000 {
            let double = random.double()
            #expect(try JSONParser.parse(JSONWriter.canonical(.double(double))).doubleValue == double)
        }
    }

    /// The same value with members in another order.
    private static func shuffled(_ value: JSONValue, _ random: inout ValueGenerator) -> JSONValue {
        switch value {
        case .null, .bool, .int, .double, .string: return value
        case .array(let elements): return .array(elements.map { shuffled($0, &random) })
        case .object(let object):
            let members = object.entries.shuffled(using: &random).map { ($0.key, shuffled($0.value, &random)) }
            return .object(JSONObject(members))
        }
    }
}
