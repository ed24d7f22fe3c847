/// A message of a server while a slot is read (PostgreSQL, "Streaming Replication Protocol").
enum ReplicationFrame: Hashable {
    /// A message of the output plugin.
    case data([UInt8])
    /// Everything before this position was sent.
    case keepalive(position: UInt64, wantsReply: Bool)

    /// Returns nil for what the protocol does not have.
    init?(_ bytes: UnsafeRawBufferPointer) {
        switch bytes.first {
        case UInt8(ascii: "w") where bytes.count >= 25: self = .data(Array(bytes[25...]))
        case UInt8(ascii: "k") where bytes.count == 18:
            self = .keepalive(position: bytes.bigEndian(at: 1), wantsReply: bytes[17] == 1)
        default: return nil
        }
    }
}

/// How far a reader is, as it tells the server.
struct StandbyStatus: Hashable {
    var received: UInt64
    /// The server may remove what lies before.
    var confirmed: UInt64
    /// Whether the server shall answer with its own position.
    var wantsReply: Bool

    /// - Parameter nowUs: microseconds since 2000.
    func encoded(nowUs: Int64) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "r")]
        for number in [received, confirmed, confirmed, UInt64(bitPattern: nowUs)] {
            withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        }
        bytes.append(wantsReply ? 1 : 0)
        return bytes
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func bigEndian(at offset: Int) -> UInt64 {
        UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
