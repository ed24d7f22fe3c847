import Testing

@testable import JSON

struct JSONParserTests {
    private func refusal(_ bytes: [UInt8], limits: JSONLimits = .default) -> JSONError? {
        do {
            _ = try JSONParser.parse(bytes, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    private func refusal(_ text: String, limits: JSONLimits = .default) -> JSONError? {
        refusal(Array(text.utf8), limits: limits)
    }

    @Test(
        arguments: [
            ("0", .int(0)), ("-0", .int(0)), ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
            ("9223372036854775808", .double(0x1p63)), ("-9223372036854775809", .double(-0x1p63)),
            ("99999999999999999999999", .double(1e23)), ("1.0", .double(1)), ("1e2", .double(100)),
            ("-0.0", .double(-0.0)),
            ("1E-400", .double(0)), ("0e99999999999999999999", .double(0)),
            ("1.7976931348623157e308", .double(1.7976931348623157e308)),
            ("5e-324", .double(.leastNonzeroMagnitude)), ("9007199254740993.0", .double(9_007_199_254_740_992)),
            ("123.456e-2", .double(1.23456)),
            ("0.1", .double(0.1)), ("1e22", .double(1e22)), ("1e23", .double(1e23)), ("8.5e+1", .double(85)),
        ] as [(String, JSONValue)])
    func numbersAreIntegersWherePossible(text: String, value: JSONValue) throws {
        let parsed = try JSONParser.parse(text)
        #expect(parsed == value)
        #expect(parsed.doubleValue?.sign == value.doubleValue?.sign)
    }

    @Test func everyNumberIsRoundedAsTheLibraryDoes() throws {
        var random = ValueGenerator(seed: ValueGenerator.seed)
        for _ in 0..<20_000 {
            let digits = String(random.next() >> UInt64(random.below(60)))
            let text = "\(random.below(1000)).\(digits)e\(random.below(60) - 30)"
            #expect(try JSONParser.parse(text).doubleValue == Double(text), "\(text)")
        }
    }

    @Test(arguments: [
        (#""""#, ""), (#""plain""#, "plain"), (#""a\"b\\c\/d""#, "a\"b\\c/d"), (#""\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u00E9""#, "Aéé"), (#""\ud83c\udf3e""#, "🌾"), (#""\u0000\uFFFF""#, "\u{0}\u{FFFF}"),
        (#""exactly8""#, "exactly8"),
        (#""a longer text past eight bytes\n🌾 and on""#, "a longer text past eight bytes\n🌾 and on"),
        ("\"\u{7F}\u{2028}\"", "\u{7F}\u{2028}"),
    ])
    func stringsAreUnescaped(text: String, value: String) throws {
        #expect(try JSONParser.parse(text) == .string(value))
    }

    /// The eight-byte scan and the tail scan must stop at the same bytes.
    @Test func everyByteAtEveryPlace() throws {
        for byte in UInt8.min...UInt8.max {
            for place in 0..<18 {
                var content = [UInt8](repeating: UInt8(ascii: "x"), count: 18)
                content[place] = byte
                let text = [UInt8(ascii: "\"")] + content + [UInt8(ascii: "\"")]
                switch byte {
                case 0..<0x20: #expect(refusal(text) == JSONError(code: .controlCharacter, offset: place + 1))
                case UInt8(ascii: "\""): #expect(refusal(text) == JSONError(code: .trailingBytes, offset: place + 2))
                case UInt8(ascii: "\\"): #expect(refusal(text)?.code == (place < 17 ? .invalidEscape : .unexpectedEnd))
                case 0x80...: #expect(refusal(text)?.code == .invalidUTF8)
                default: #expect(try JSONParser.parse(text) == .string(String(decoding: content, as: UTF8.self)))
                }
            }
        }
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("[1,", .unexpectedEnd, 3),
            ("{\"a\"", .unexpectedEnd, 4),
            ("\"abc", .unexpectedEnd, 4), ("\"\\", .unexpectedEnd, 2), ("\"\\u00", .unexpectedEnd, 5),
            ("tru", .unexpectedEnd, 3),
            ("[1,]", .unexpectedByte, 3), ("{,}", .unexpectedByte, 1), ("{\"a\":1,}", .unexpectedByte, 7),
            ("{\"a\" 1}", .unexpectedByte, 5), ("trux", .unexpectedByte, 3), ("True", .unexpectedByte, 0),
            ("[1 2]", .unexpectedByte, 3), ("'a'", .unexpectedByte, 0), ("NaN", .unexpectedByte, 0),
            ("1 2", .trailingBytes, 2), ("{}}", .trailingBytes, 2), ("\u{FEFF}1", .byteOrderMark, 0),
            ("01", .invalidNumber, 0), ("-", .unexpectedEnd, 1), ("-a", .invalidNumber, 1), ("1.", .unexpectedEnd, 2),
            ("1.x", .invalidNumber, 2), ("1e", .unexpectedEnd, 2), ("1e+", .unexpectedEnd, 3),
            ("1e400", .numberOutOfRange, 0),
            ("[-1e9999999999999999999]", .numberOutOfRange, 1), ("+1", .unexpectedByte, 0), (".5", .unexpectedByte, 0),
            ("\"\\x\"", .invalidEscape, 1), ("\"\\u12g4\"", .invalidEscape, 1), ("\"a\\ud83c\"", .loneSurrogate, 2),
            ("\"\\udf3e\"", .loneSurrogate, 1), ("\"\\ud83c\\u0041\"", .loneSurrogate, 1),
            ("\"\\ud83cA\"", .loneSurrogate, 1),
            ("\"a\nb\"", .controlCharacter, 2),
        ] as [(String, JSONError.Code, Int)])
    func refusalsHaveCodeAndOffset(text: String, code: JSONError.Code, offset: Int) throws {
        #expect(refusal(text) == JSONError(code: code, offset: offset))
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3],
            [0xC3, 0x5C, 0x6E],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(sequence: [UInt8]) throws {
        let quote = [UInt8(ascii: "\"")]
        #expect(refusal(quote + sequence + quote)?.code == .invalidUTF8)
        #expect(refusal(quote + Array("\\n".utf8) + sequence + quote)?.code == .invalidUTF8)
        #expect(refusal(Array("{\"".utf8) + sequence + Array("\":1}".utf8))?.code == .invalidUTF8)
    }

    @Test func depthAndSizeAreBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(refusal(nested(128)) == nil)
        #expect(refusal(nested(129)) == JSONError(code: .tooDeep, offset: 128))
        #expect(refusal("[{\"a\":[1]}]", limits: JSONLimits(depthMax: 2)) == JSONError(code: .tooDeep, offset: 6))
        #expect(refusal("[[],[],[]]", limits: JSONLimits(depthMax: 2)) == nil)
        #expect(refusal("1", limits: JSONLimits(depthMax: 0)) == nil)
        #expect(refusal("12345", limits: JSONLimits(bytesMax: 5)) == nil)
        #expect(refusal("123456", limits: JSONLimits(bytesMax: 5)) == JSONError(code: .tooLarge, offset: 5))
    }

    @Test func slicesAndBuffersAreParsed() throws {
        let bytes = Array(#"xx{"a":[1,2.5,"s",null,true]}yy"#.utf8)
        let expected: JSONValue = ["a": [1, 2.5, "s", nil, true]]
        #expect(try JSONParser.parse(bytes[2..<(bytes.count - 2)]) == expected)
        let copy = Array(bytes[2..<(bytes.count - 2)])
        #expect(try copy.withUnsafeBytes { try JSONParser.parse($0) } == expected)
        #expect(throws: JSONError(code: .unexpectedEnd, offset: 0)) {
            try JSONParser.parse(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    @Test func duplicateKeysLastWinsAtTheFirstPlace() throws {
        let value = try JSONParser.parse(#"{"a":1,"b":2,"a":3}"#)
        #expect(value.description == #"{"a":3,"b":2}"#)
        let many = "{" + (0..<40).map { "\"k\($0 % 20)\":\($0)" }.joined(separator: ",") + "}"
        let object = try #require(try JSONParser.parse(many).objectValue)
        #expect(object.count == 20)
        #expect((0..<20).allSatisfy { object["k\($0)"] == .int(Int64($0 + 20)) })
    }

    @Test func randomBytesNeverCrash() throws {
        print("seed \(ValueGenerator.seed)")
        var random = ValueGenerator(seed: ValueGenerator.seed &+ 1)
        let alphabet = Array("[]{},:\"\\u0d8 -1.eEtrufalsn\n".utf8) + [0x80, 0xC3, 0xA9, 0xF0, 0x00]
        for round in 0..<20_000 {
            let bytes = (0..<random.below(40)).map { _ in
                round % 2 == 0 ? alphabet[random.below(alphabet.count)] : UInt8(random.below(256))
            }
            guard let value = try? JSONParser.parse(bytes) else { continue }
            #expect(try JSONParser.parse(JSONWriter.compact(value)) == value)
        }
    }

    @Test func changedTextsNeverCrash() throws {
        var random = ValueGenerator(seed: ValueGenerator.seed &+ 2)
        var accepted = 0
        for _ in 0..<5_000 {
            var bytes = JSONWriter.compact(random.value(depth: 3))
            for _ in 0...random.below(3) where !bytes.isEmpty {
                let at = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes.remove(at: at)
                case 1: bytes.insert(UInt8(random.below(256)), at: at)
                case 2: bytes[at] = UInt8(random.below(256))
                default: bytes.removeSubrange(at...)
                }
            }
            guard let value = try? JSONParser.parse(bytes) else { continue }
            accepted += 1
            #expect(try JSONParser.parse(JSONWriter.compact(value)) == value)
        }
        #expect(accepted > 0)
    }
}
