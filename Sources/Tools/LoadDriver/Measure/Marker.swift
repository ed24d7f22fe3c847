/// The text by which a delivery shows a mutation's effect: `~` run `-` sequence number `.`.
///
/// The run's number distinguishes markers that an earlier run left in the database.
package struct Marker: Sendable, Hashable {
    private let prefix: [UInt8]

    package init(run: UInt32) {
        let digits = String(run, radix: 16)
        prefix = Array("~\(String(repeating: "0", count: 8 - digits.utf8.count))\(digits)-".utf8)
    }

    package func text(_ sequence: Int) -> String {
        String(decoding: prefix, as: UTF8.self) + "\(sequence)."
    }

    /// Returns the sequence numbers in a text in order, including repetitions.
    package func sequences(in bytes: UnsafeRawBufferPointer) -> [Int] {
        var found: [Int] = []
        var from = 0
        while let hit = ByteSearch.offset(of: prefix, in: bytes, from: from) {
            var at = hit + prefix.count
            var number = 0
            // Twelve digits cannot overflow, and no run is that long.
            let digitsEnd = min(at + 12, bytes.count)
            while at < digitsEnd, (0x30...0x39).contains(bytes[at]) {
                number = number * 10 + Int(bytes[at] - 0x30)
                at += 1
            }
            if at > hit + prefix.count, at < bytes.count, bytes[at] == UInt8(ascii: ".") { found.append(number) }
            from = at
        }
        return found
    }
}

/// The sequence numbers that one subscriber has seen, for the newest `span` of them.
///
/// Each result of a list contains old markers beside the new one; each is timed once, on its first appearance.
package struct MarkerWindow: Sendable, Hashable {
    /// Numbers this far behind the newest count as seen.
    package static let span = 4_096

    /// Bit `sequence % span`; empty until the first marker.
    private var words: [UInt64] = []
    private var newest = -1

    package init() {}

    /// Records a number; returns whether it is new.
    package mutating func insert(_ sequence: Int) -> Bool {
        guard sequence >= 0, sequence > newest - Self.span else { return false }
        if words.isEmpty { words = [UInt64](repeating: 0, count: Self.span / 64) }
        if sequence > newest {
            if sequence - newest >= Self.span {
                for index in words.indices { words[index] = 0 }
            } else {
                for passed in (newest + 1)...sequence { words[Self.word(passed)] &= ~Self.bit(passed) }
            }
            newest = sequence
        }
        guard words[Self.word(sequence)] & Self.bit(sequence) == 0 else { return false }
        words[Self.word(sequence)] |= Self.bit(sequence)
        return true
    }

    private static func word(_ sequence: Int) -> Int { sequence % span / 64 }
    private static func bit(_ sequence: Int) -> UInt64 { 1 << UInt64(sequence % 64) }
}
