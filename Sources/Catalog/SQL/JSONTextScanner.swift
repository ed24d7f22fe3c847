/// Goes through a text that is known to be JSON, value by value, without making values of it.
struct JSONTextScanner {
    let bytes: [UInt8]
    private(set) var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { index >= bytes.count }

    /// The next one; 0 at the end.
    var byte: UInt8 { index < bytes.count ? bytes[index] : 0 }

    /// The next byte, and past it.
    mutating func take() -> UInt8 {
        defer { index += 1 }
        return byte
    }

    /// The text of the next value, and past it.
    mutating func takeValue() -> ArraySlice<UInt8> {
        let start = index
        skipValue()
        return bytes[min(start, index)..<index]
    }

    mutating func skipBlanks() {
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
    }

    /// Past one value, whatever it is.
    mutating func skipValue() {
        var depth = 0
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

    /// A number or one of the three words.
    private mutating func skipWord() {
        let ends: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":")]
        repeat { index += 1 } while index < bytes.count && bytes[index] > 0x20 && !ends.contains(bytes[index])
    }
}
