/// Returns whether two strings have equal code points, which is CEL's equality. Swift's `==` also holds for canonically
/// equivalent strings ("é" composed and decomposed), so all string comparisons in this module use this function.
@inline(__always)
func sameCodePoints(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return sameBytes(left, right)
}

/// Compares strings of equal length in bytes.
private func sameBytes(_ left: String, _ right: String) -> Bool {
    let compared = left.utf8.withContiguousStorageIfAvailable { leftBytes in
        right.utf8.withContiguousStorageIfAvailable { rightBytes in
            sameBytes(UnsafeRawBufferPointer(leftBytes), UnsafeRawBufferPointer(rightBytes))
        }
    }
    return (compared ?? nil) ?? left.utf8.elementsEqual(right.utf8)
}

/// Compares eight bytes at a time: this is the innermost loop of most conditions.
@inline(__always)
private func sameBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    while position + 8 <= left.count {
        guard
            left.loadUnaligned(fromByteOffset: position, as: UInt64.self)
                == right.loadUnaligned(fromByteOffset: position, as: UInt64.self)
        else { return false }
        position += 8
    }
    while position < left.count {
        guard left[position] == right[position] else { return false }
        position += 1
    }
    return true
}

/// A string that hashes and compares by its UTF-8 bytes; the key type of all dictionaries over CEL strings.
package struct StringKey: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: StringKey, right: StringKey) -> Bool {
        sameCodePoints(left.text, right.text)
    }

    package func hash(into hasher: inout Hasher) {
        let contiguous: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if contiguous == nil {
            for byte in text.utf8 { hasher.combine(byte) }
        }
        hasher.combine(0xFF as UInt8)
    }
}
