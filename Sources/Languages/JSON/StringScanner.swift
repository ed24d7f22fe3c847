/// Parses one JSON string. Nearly all strings in control messages are short, ASCII and free of escapes: these are
/// scanned eight bytes at a time and converted to a `String` in one step.
enum StringScanner {
    /// Parses the string whose opening quote is at `at`, and moves `at` past the closing quote.
    @inline(__always)
    static func parse(_ base: UnsafePointer<UInt8>, count: Int, at: inout Int) throws(JSONError) -> String {
        let start = at + 1
        var highBits: UInt64 = 0
        let stop = skipPlain(base, count: count, from: start, highBits: &highBits)
        guard stop < count else { throw JSONError(code: .unexpectedEnd, offset: count) }
        guard base[stop] == UInt8(ascii: "\"") else {
            return try parseWithEscapes(base, count: count, start: start, firstStop: stop, at: &at)
        }
        at = stop + 1
        let content = UnsafeBufferPointer(start: base + start, count: stop - start)
        if highBits & 0x8080_8080_8080_8080 != 0 { try validate(content, offset: start) }
        return String(decoding: content, as: UTF8.self)
    }

    /// Returns the first position from `from` on that holds a quote, a backslash or a control character, or `count`.
    /// - Parameter highBits: accumulates the bytes scanned, and possibly up to seven more; without a high bit all are
    ///   ASCII.
    @inline(__always)
    static func skipPlain(
        _ base: UnsafePointer<UInt8>, count: Int, from: Int, highBits: inout UInt64
    ) -> Int {
        var at = from
        while at + 8 <= count {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + at).loadUnaligned(as: UInt64.self))
            highBits |= word
            // Sets the high bit of each byte that is zero in `word ^ pattern`, or below 0x20 in `word`. A borrow may
            // set wrong bits, but only above the first correct one.
            let quote = word ^ 0x2222_2222_2222_2222
            let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let hits =
                ((quote &- 0x0101_0101_0101_0101) & ~quote)
                | ((backslash &- 0x0101_0101_0101_0101) & ~backslash)
                | ((word &- 0x2020_2020_2020_2020) & ~word)
            let mask = hits & 0x8080_8080_8080_8080
            if mask != 0 { return at + mask.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < count {
            let byte = base[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { return at }
            highBits |= UInt64(byte)
            at += 1
        }
        return count
    }

    private static func validate(_ content: UnsafeBufferPointer<UInt8>, offset: Int) throws(JSONError) {
        do {
            _ = try UTF8Span(validating: content.span)
        } catch {
            throw JSONError(code: .invalidUTF8, offset: offset + error.byteOffsets.lowerBound)
        }
    }

    private static func parseWithEscapes(
        _ base: UnsafePointer<UInt8>, count: Int, start: Int, firstStop: Int, at: inout Int
    ) throws(JSONError) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(2 * (firstStop - start) + 32)
        var runStart = start
        var stop = firstStop
        // Ignored: escapes are rare enough to validate such texts always.
        var highBits: UInt64 = 0
        while true {
            guard stop < count else { throw JSONError(code: .unexpectedEnd, offset: count) }
            decoded.append(contentsOf: UnsafeBufferPointer(start: base + runStart, count: stop - runStart))
            switch base[stop] {
            case UInt8(ascii: "\""):
                at = stop + 1
                try validate(UnsafeBufferPointer(start: base + start, count: stop - start), offset: start)
                return String(decoding: decoded, as: UTF8.self)
            case UInt8(ascii: "\\"):
                runStart = try decodeEscape(base, count: count, at: stop, to: &decoded)
                stop = skipPlain(base, count: count, from: runStart, highBits: &highBits)
            default:
                throw JSONError(code: .controlCharacter, offset: stop)
            }
        }
    }

    /// Decodes the escape whose backslash is at `at` and returns the position after it.
    private static func decodeEscape(
        _ base: UnsafePointer<UInt8>, count: Int, at: Int, to decoded: inout [UInt8]
    ) throws(JSONError) -> Int {
        guard at + 1 < count else { throw JSONError(code: .unexpectedEnd, offset: count) }
        switch base[at + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(base[at + 1])
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): return try decodeUnicodeEscape(base, count: count, at: at, to: &decoded)
        default: throw JSONError(code: .invalidEscape, offset: at)
        }
        return at + 2
    }

    private static func decodeUnicodeEscape(
        _ base: UnsafePointer<UInt8>, count: Int, at: Int, to decoded: inout [UInt8]
    ) throws(JSONError) -> Int {
        let unit = try codeUnit(base, count: count, at: at)
        if let scalar = Unicode.Scalar(unit) {
            decoded.append(contentsOf: UTF8.encode(scalar)!)
            return at + 6
        }
        guard unit < 0xDC00, at + 7 < count, base[at + 6] == UInt8(ascii: "\\"), base[at + 7] == UInt8(ascii: "u")
        else { throw JSONError(code: .loneSurrogate, offset: at) }
        let trail = try codeUnit(base, count: count, at: at + 6)
        let code = 0x10000 + ((UInt32(unit) & 0x3FF) << 10) + (UInt32(trail) & 0x3FF)
        guard trail & 0xFC00 == 0xDC00, let scalar = Unicode.Scalar(code) else {
            throw JSONError(code: .loneSurrogate, offset: at)
        }
        decoded.append(contentsOf: UTF8.encode(scalar)!)
        return at + 12
    }

    /// Parses the four hexadecimal digits of the `\u` escape at `at`.
    private static func codeUnit(_ base: UnsafePointer<UInt8>, count: Int, at: Int) throws(JSONError) -> UInt16 {
        guard at + 6 <= count else { throw JSONError(code: .unexpectedEnd, offset: count) }
        var unit: UInt16 = 0
        for index in (at + 2)..<(at + 6) {
            let digit: UInt8
            switch base[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = base[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = base[index] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = base[index] - UInt8(ascii: "A") + 10
            default: throw JSONError(code: .invalidEscape, offset: at)
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
