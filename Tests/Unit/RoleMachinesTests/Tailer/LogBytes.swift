import LiveModel

/// Messages of `pgoutput` for tables of one text column `id`, the key, and the outbox.
enum LogBytes {
    static let outboxRelation: UInt32 = 1

    static func begin(xid: UInt32) -> [UInt8] { [UInt8(ascii: "B")] + long(0) + long(0) + int(xid) }

    static func commit(end: UInt64) -> [UInt8] { [UInt8(ascii: "C"), 0] + long(0) + long(end) + long(0) }

    static func relation(_ id: UInt32, _ name: String, namespace: String = "public") -> [UInt8] {
        let columns = id == outboxRelation ? ["event"] : ["id"]
        return [UInt8(ascii: "R")] + int(id) + text(namespace) + text(name) + [UInt8(ascii: "d")]
            + short(UInt16(columns.count)) + columns.flatMap { [1] + text($0) + int(25) + int(.max) }
    }

    static func insert(_ relation: UInt32, _ value: String) -> [UInt8] {
        let bytes = Array(value.utf8)
        return [UInt8(ascii: "I")] + int(relation) + [UInt8(ascii: "N")] + short(1)
            + [UInt8(ascii: "t")] + int(UInt32(bytes.count)) + bytes
    }

    /// A transaction that inserts a row.
    static func transaction(xid: UInt32, end: UInt64, _ relation: UInt32, _ value: String) -> [[UInt8]] {
        [begin(xid: xid), insert(relation, value), commit(end: end)]
    }

    /// A transaction of messages, each with its prefix.
    static func transaction(xid: UInt32, end: UInt64, messages: [(prefix: String, content: [UInt8])]) -> [[UInt8]] {
        [begin(xid: xid)]
            + messages.map { message in
                [UInt8(ascii: "M"), 1] + long(0) + text(message.prefix) + int(UInt32(message.content.count))
                    + message.content
            } + [commit(end: end)]
    }

    private static func short(_ number: UInt16) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    private static func int(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    private static func long(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
}
