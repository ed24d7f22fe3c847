package import LiveModel
package import Streams

/// A message for a gateway's inbox, encoded.
struct OutgoingMessage: Sendable {
    let gateway: NodeID
    let message: InboxMessage
    let fields: [(name: String, value: [UInt8])]
    let bytes: Int

    init(to gateway: NodeID, _ message: InboxMessage) {
        self.gateway = gateway
        self.message = message
        fields = message.fields.map { (name: $0.0, value: $0.1) }
        bytes = fields.reduce(0) { $0 + $1.value.count }
    }
}

extension [InboxEntry] {
    package var messageCount: Int { reduce(0) { $0 + $1.messages.count } }
}

/// An entry for a gateway's inbox with several messages in order: the results of one statement, and whatever else is
/// ready for the gateway, cost one append.
package struct InboxEntry: Sendable {
    package let gateway: NodeID
    package let messages: [InboxMessage]
    package let append: StreamAppend

    package init(to gateway: NodeID, _ messages: [InboxMessage], append: StreamAppend) {
        self.gateway = gateway
        self.messages = messages
        self.append = append
    }

    /// Groups a batch into entries. Messages to one gateway keep their order.
    /// - Parameters:
    ///   - bytesMax: bytes of an entry; a larger message is alone.
    ///   - append: makes the append for an entry with these fields.
    static func entries(
        of batch: [OutgoingMessage], bytesMax: Int, messagesMax: Int,
        append: (NodeID, [(name: String, value: [UInt8])]) -> StreamAppend
    ) -> [InboxEntry] {
        var groups: [(gateway: NodeID, messages: [OutgoingMessage], bytes: Int)] = []
        var open: [NodeID: Int] = [:]
        for message in batch {
            if let index = open[message.gateway], groups[index].messages.count < messagesMax,
                groups[index].bytes + message.bytes <= bytesMax
            {
                groups[index].messages.append(message)
                groups[index].bytes += message.bytes
            } else {
                open[message.gateway] = groups.count
                groups.append((message.gateway, [message], message.bytes))
            }
        }
        return groups.map { gateway, messages, _ in
            InboxEntry(
                to: gateway, messages.map(\.message), append: append(gateway, messages.flatMap(\.fields)))
        }
    }
}
