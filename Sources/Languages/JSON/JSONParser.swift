/// A strict JSON parser over UTF-8 bytes (RFC 8259).
///
/// Where the standard leaves a choice:
/// - Invalid UTF-8 (including overlong forms and encoded surrogates), a byte order mark and UTF-16 are rejected.
/// - `\u` surrogates must form pairs; escaped U+0000 and noncharacters are accepted.
/// - An integer that does not fit 64 bits becomes the nearest double; a number too large for a double is rejected, one
///   too small becomes zero. `-0` is the integer 0, `-0.0` the negative double.
/// - The last value of a duplicate key wins, at the position of the first.
package struct JSONParser {
    private let base: UnsafePointer<UInt8>
    private let count: Int
    private let depthMax: Int
    private var at = 0
    private var depth = 0

    package static func parse(
        _ bytes: [UInt8], limits: JSONLimits = .default
    ) throws(JSONError) -> JSONValue {
        try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in try parse(buffer, limits: limits) }
    }

    /// Parses a slice; error offsets count from its start.
    package static func parse(
        _ bytes: ArraySlice<UInt8>, limits: JSONLimits = .default
    ) throws(JSONError) -> JSONValue {
        try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in try parse(buffer, limits: limits) }
    }

    package static func parse(
        _ bytes: UnsafeRawBufferPointer, limits: JSONLimits = .default
    ) throws(JSONError) -> JSONValue {
        try parse(bytes.assumingMemoryBound(to: UInt8.self), limits: limits)
    }

    package static func parse(_ text: String, limits: JSONLimits = .default) throws(JSONError) -> JSONValue {
        try parse(Array(text.utf8), limits: limits)
    }

    private static func parse(
        _ buffer: UnsafeBufferPointer<UInt8>, limits: JSONLimits
    ) throws(JSONError) -> JSONValue {
        guard let base = buffer.baseAddress, !buffer.isEmpty else { throw JSONError(code: .unexpectedEnd, offset: 0) }
        guard buffer.count <= limits.bytesMax else { throw JSONError(code: .tooLarge, offset: limits.bytesMax) }
        if buffer.count >= 3, buffer[0] == 0xEF, buffer[1] == 0xBB, buffer[2] == 0xBF {
            throw JSONError(code: .byteOrderMark, offset: 0)
        }
        var parser = JSONParser(base: base, count: buffer.count, depthMax: limits.depthMax)
        let value = try parser.parseValue()
        parser.skipWhitespace()
        guard parser.at == parser.count else { throw JSONError(code: .trailingBytes, offset: parser.at) }
        return value
    }

    private init(base: UnsafePointer<UInt8>, count: Int, depthMax: Int) {
        self.base = base
        self.count = count
        self.depthMax = depthMax
    }

    private mutating func parseValue() throws(JSONError) -> JSONValue {
        skipWhitespace()
        switch try current() {
        case UInt8(ascii: "\""):
            return .string(try parseString())
        case UInt8(ascii: "{"):
            return .object(try parseObject())
        case UInt8(ascii: "["):
            return .array(try parseArray())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try NumberScanner.parse(base, count: count, at: &at)
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default:
            throw JSONError(code: .unexpectedByte, offset: at)
        }
    }

    private mutating func parseArray() throws(JSONError) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        skipWhitespace()
        if try current() == UInt8(ascii: "]") {
            leave()
            return elements
        }
        while true {
            elements.append(try parseValue())
            skipWhitespace()
            switch try current() {
            case UInt8(ascii: ","):
                at += 1
            case UInt8(ascii: "]"):
                leave()
                return elements
            default:
                throw JSONError(code: .unexpectedByte, offset: at)
            }
        }
    }

    private mutating func parseObject() throws(JSONError) -> JSONObject {
        try enter()
        var object = JSONObject()
        skipWhitespace()
        if try current() == UInt8(ascii: "}") {
            leave()
            return object
        }
        object.reserveCapacity(4)
        while true {
            guard try current() == UInt8(ascii: "\"") else { throw JSONError(code: .unexpectedByte, offset: at) }
            let key = try parseString()
            skipWhitespace()
            guard try current() == UInt8(ascii: ":") else { throw JSONError(code: .unexpectedByte, offset: at) }
            at += 1
            object.set(key, try parseValue())
            skipWhitespace()
            switch try current() {
            case UInt8(ascii: ","):
                at += 1
                skipWhitespace()
            case UInt8(ascii: "}"):
                leave()
                return object
            default:
                throw JSONError(code: .unexpectedByte, offset: at)
            }
        }
    }

    private mutating func parseString() throws(JSONError) -> String {
        try StringScanner.parse(base, count: count, at: &at)
    }

    private mutating func enter() throws(JSONError) {
        guard depth < depthMax else { throw JSONError(code: .tooDeep, offset: at) }
        depth += 1
        at += 1
    }

    private mutating func leave() {
        depth -= 1
        at += 1
    }

    @inline(__always)
    private func current() throws(JSONError) -> UInt8 {
        guard at < count else { throw JSONError(code: .unexpectedEnd, offset: count) }
        return base[at]
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        while at < count {
            let byte = base[at]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            at += 1
        }
    }

    private mutating func expect(_ literal: StaticString) throws(JSONError) {
        for index in 0..<literal.utf8CodeUnitCount {
            guard try current() == literal.utf8Start[index] else { throw JSONError(code: .unexpectedByte, offset: at) }
            at += 1
        }
    }
}
