/// Scans a valid JSON text value by value without decoding it. Operates on borrowed bytes, so that slices need no
/// reference counting.
///
/// Stands here and not in `JSON`: called across modules, even inlinable, it made redaction 13 % slower.
struct JSONTextScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var index = 0

    /// - Parameter bytes: must outlive the scanner.
    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { index >= bytes.count }

    /// The next byte; 0 at the end.
    var byte: UInt8 { index < bytes.count ? bytes[index] : 0 }

    /// Returns the next byte and moves past it.
    mutating func take() -> UInt8 {
        defer { index = min(index + 1, bytes.count) }
        return byte
    }

    /// Returns the text of the next value and moves past it.
    mutating func takeValue() -> UnsafeBufferPointer<UInt8> {
        let start = index
        skipValue()
        return text(min(start, index)..<index)
    }

    func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[range]) }

    mutating func skipBlanks() {
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
    }

    /// Skips one value of any kind.
    mutating func skipValue() { skip(depth: 0) }

    /// Skips to the end of the current object or list, from between two of its members.
    mutating func skipRest() { skip(depth: 1) }

    private mutating func skip(depth: Int) {
        var depth = depth
        repeat {
            switch byte {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                index += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"): index += 1
            case 0x01...0x20: index += 1
            default: skipWord()
            }
        } while depth > 0 && index < bytes.count
        index = min(index, bytes.count)
    }

    private mutating func skipString() {
        index += 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        index = min(index + 1, bytes.count)
    }

    /// Skips a number, `true`, `false` or `null`.
    private mutating func skipWord() {
        repeat { index += 1 } while index < bytes.count && !Self.endsWord(bytes[index])
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":"): true
        default: false
        }
    }
}
