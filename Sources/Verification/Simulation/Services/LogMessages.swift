import ChangeCapture
import LiveModel

/// Messages of `pgoutput` about the one table outside of the service.
enum LogMessages {
    static let namespace = "public"
    static let table = "outside"
    private static let relation: UInt32 = 1

    /// The messages before the first transaction: the form of the table.
    static var head: [[UInt8]] {
        [
            [UInt8(ascii: "R")] + bytes(relation) + text(namespace) + text(table) + [UInt8(ascii: "d")]
                + bytes(UInt16(1)) + [1] + text("id") + bytes(UInt32(25)) + bytes(UInt32.max)
        ]
    }

    static func messages(_ transaction: SimulatedLog.Transaction) -> [[UInt8]] {
        let change: [UInt8] =
            switch transaction.content {
            case .outside(let entity):
                [UInt8(ascii: "I")] + bytes(relation) + [UInt8(ascii: "N")] + bytes(UInt16(1)) + [UInt8(ascii: "t")]
                    + bytes(UInt32(entity.utf8.count)) + Array(entity.utf8)
            case .event(let row): message(OutboxRow.logPrefix, row.logHead + row.event)
            case .mark: message(TransactionReader.markPrefix, [])
            }
        return [
            [UInt8(ascii: "B")] + bytes(transaction.end) + bytes(UInt64(0)) + bytes(transaction.xid), change,
            [UInt8(ascii: "C"), 0] + bytes(transaction.end) + bytes(transaction.end) + bytes(UInt64(0)),
        ]
    }

    private static func message(_ prefix: String, _ content: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "M"), 1] + bytes(UInt64(0)) + text(prefix) + bytes(UInt32(content.count)) + content
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
}
