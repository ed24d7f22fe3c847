package import JSON

/// The text by which values of guards and images are compared: equal for equal values of one column.
package enum GuardValue {
    package static func text(_ value: JSONValue) -> String {
        // Strings are most of the values, and a column never mixes types.
        if case .string(let text) = value { return text }
        return value.text
    }
}

/// Computes the hash of a row's values, the guard values of one or several fields. Different rows may have the same
/// hash.
package struct RowHasher: Sendable {
    // FNV-1a
    private var state: UInt32 = 0x811C_9DC5

    package init() {}

    package mutating func combine(_ byte: UInt8) { state = (state ^ UInt32(byte)) &* 0x0100_0193 }

    package mutating func combine(_ text: String) {
        for byte in text.utf8 { combine(byte) }
        // No UTF-8 text has this byte.
        combine(0xFF)
    }

    package mutating func combine(_ text: UnsafeBufferPointer<UInt8>) {
        for byte in text { combine(byte) }
        combine(0xFF)
    }

    package func finish() -> UInt32 {
        // The last steps of MurmurHash3, so that all bits depend on all others.
        var hash = state
        hash = (hash ^ hash >> 16) &* 0x85EB_CA6B
        hash = (hash ^ hash >> 13) &* 0xC2B2_AE35
        return hash ^ hash >> 16
    }

    package static func hash(_ values: some Sequence<String>) -> UInt32 {
        var hasher = RowHasher()
        for value in values { hasher.combine(value) }
        return hasher.finish()
    }
}
