/// Writes JSON text.
///
/// - `compact`: no white space, members in order; `-0.0` and `1.0` keep a fraction so that they read back as doubles.
/// - `canonical`: one text per value. Members are sorted by the UTF-8 bytes of their keys (RFC 8785 sorts by UTF-16
///   code units, which differs only between keys beyond U+FFFF and keys from U+E000 on). Doubles use the shortest form
///   that reads back the same, in ECMAScript's layout (so `1.0` is `1`, `-0.0` is `0`); integers keep all digits.
///
/// Both escape only what must be escaped: quotes, backslashes and control characters below U+0020.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    private let canonical: Bool

    package init(canonical: Bool = false) {
        self.canonical = canonical
    }

    package static func compact(_ value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.bytes.reserveCapacity(256)
        writer.append(value)
        return writer.bytes
    }

    package static func canonical(_ value: JSONValue) -> [UInt8] {
        var writer = JSONWriter(canonical: true)
        writer.bytes.reserveCapacity(256)
        writer.append(value)
        return writer.bytes
    }

    /// Appends the text of a value to a buffer.
    package static func append(_ value: JSONValue, to bytes: inout [UInt8], canonical: Bool = false) {
        var writer = JSONWriter(canonical: canonical)
        swap(&writer.bytes, &bytes)
        writer.append(value)
        swap(&writer.bytes, &bytes)
    }

    package mutating func reserve(_ bytesCount: Int) { bytes.reserveCapacity(bytes.count + bytesCount) }

    /// Appends a fragment of JSON that the caller guarantees to be valid: brackets, commas, constant names.
    package mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(string text: String) { Self.appendEscaped(text, to: &bytes) }

    package mutating func append(_ value: JSONValue) {
        switch value {
        case .null: bytes.append(ascii: "null")
        case .bool(true): bytes.append(ascii: "true")
        case .bool(false): bytes.append(ascii: "false")
        case .int(let value): bytes.append(decimal: value)
        case .double(let value): NumberText.append(value, to: &bytes, canonical: canonical)
        case .string(let text): Self.appendEscaped(text, to: &bytes)
        case .array(let elements): append(elements)
        case .object(let object): append(object)
        }
    }

    private mutating func append(_ elements: [JSONValue]) {
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for element in elements {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            append(element)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    package mutating func append(_ object: JSONObject) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        func append(_ entry: JSONObject.Entry, to writer: inout JSONWriter) {
            if !isFirst { writer.bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            Self.appendEscaped(entry.key, to: &writer.bytes)
            writer.bytes.append(UInt8(ascii: ":"))
            writer.append(entry.value)
        }
        if canonical {
            let sorted = object.entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for entry in sorted { append(entry, to: &self) }
        } else {
            for entry in object { append(entry, to: &self) }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends the text as a JSON string, including quotes.
    package static func appendEscaped(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { appendContent($0, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Copies runs of bytes that need no escape.
    private static func appendContent(_ content: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        guard let base = content.baseAddress else { return }
        var runStart = 0
        var highBits: UInt64 = 0
        while true {
            let stop = StringScanner.skipPlain(base, count: content.count, from: runStart, highBits: &highBits)
            bytes.append(contentsOf: UnsafeBufferPointer(start: base + runStart, count: stop - runStart))
            guard stop < content.count else { return }
            runStart = stop + 1
            let byte = base[stop]
            bytes.append(UInt8(ascii: "\\"))
            switch byte {
            case 0x08: bytes.append(UInt8(ascii: "b"))
            case 0x09: bytes.append(UInt8(ascii: "t"))
            case 0x0A: bytes.append(UInt8(ascii: "n"))
            case 0x0C: bytes.append(UInt8(ascii: "f"))
            case 0x0D: bytes.append(UInt8(ascii: "r"))
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
            default:
                bytes.append(ascii: "u00")
                bytes.append(hexDigit(byte >> 4))
                bytes.append(hexDigit(byte & 0xF))
            }
        }
    }

    private static func hexDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}
