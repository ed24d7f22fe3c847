/// The place in which mutations leave their events for publication.
package enum OutboxKind: String, Sendable, CaseIterable {
    /// Rows of a table, which the node that wrote them publishes and removes.
    case table
    /// The database's write-ahead log alone, from which the reader of the log publishes them.
    case wal
}

/// Outbox rows as messages of the write-ahead log (`pg_logical_emit_message`).
extension OutboxRow {
    /// The prefix of messages that hold an event.
    package static let logPrefix = "freshet.event"

    /// The bytes before the event: `ID {1,2}` and a line break.
    package var logHead: [UInt8] { Array("\(id) \(shardNumbers)\n".utf8) }

    /// The shards as the text of a Postgres array: `{1,2}`.
    package var shardNumbers: String {
        var numbers = "{"
        for shard in shards {
            if numbers.utf8.count > 1 { numbers += "," }
            numbers += String(shard.number)
        }
        return numbers + "}"
    }

    /// Reads the shards from the text of an array.
    package static func shards(_ numbers: some StringProtocol) -> [ShardID] {
        numbers.dropFirst().dropLast().split(separator: ",").compactMap { Int($0) }.map(ShardID.init)
    }

    /// Reads a message. One without a readable head is an event that nobody can read, which may concern any query.
    package init(logMessage content: [UInt8]) {
        guard let end = content.firstIndex(of: UInt8(ascii: "\n")) else {
            self.init(id: "", shards: [], event: content)
            return
        }
        let head = String(decoding: content[..<end], as: UTF8.self)
        let parts = head.split(separator: " ", maxSplits: 1)
        self.init(
            id: parts.first.map(String.init) ?? "", shards: parts.count == 2 ? Self.shards(parts[1]) : [],
            event: Array(content[(end + 1)...]))
    }
}
