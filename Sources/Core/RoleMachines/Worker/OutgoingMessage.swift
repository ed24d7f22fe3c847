package import LiveModel
package import Streams

/// A message for a gateway's inbox, encoded.
struct OutgoingMessage: Sendable {
    let gateway: NodeID
    let message: InboxMessage
    let fields: [(name: String, value: [UInt8])]
    let bytes: Int
    /// The failures before it was queued.
    let failuresBefore: UInt64

    init(to gateway: NodeID, _ message: InboxMessage, failuresBefore: UInt64 = 0) {
        self.failuresBefore = failuresBefore
        self.gateway = gateway
        self.message = message
        fields = message.fields.map { (name: $0.0, value: $0.1) }
        bytes = fields.reduce(0) { $0 + $1.value.count }
    }

    /// Whether it promises that the messages before it were sent.
    var isMarker: Bool {
        switch message {
        case .marker, .ticket: true
        default: false
        }
    }
}

/// The messages for gateways' inboxes that wait for the broker, and the batch in flight.
struct OutgoingMessages: Sendable {
    typealias Offer = BatchQueue<OutgoingMessage>.Offer

    private let keys: Keys
    private let settings: WorkerMachine.Settings
    /// Bound: `outgoingBytesMax`.
    private var queue: BatchQueue<OutgoingMessage>
    /// How often messages were not sent. A marker or ticket that waits is dropped then: a result before it may be
    /// missing.
    private var failures: UInt64 = 0

    init(keys: Keys, settings: WorkerMachine.Settings) {
        self.keys = keys
        self.settings = settings
        queue = BatchQueue(bytesMax: settings.outgoingBytesMax, batchBytesMax: settings.batchBytesMax)
    }

    /// The size of all messages, including the batch in flight.
    var bytes: Int { queue.bytes }

    mutating func offer(_ message: InboxMessage, to gateway: NodeID) -> Offer {
        let outgoing = OutgoingMessage(to: gateway, message, failuresBefore: failures)
        return queue.offer(outgoing, bytes: outgoing.bytes)
    }

    /// Handles messages that were not sent.
    mutating func failed() { failures += 1 }

    /// Ends the batch in flight.
    /// - Returns: the entries of the next batch, and the gateway and the live query of each of its messages; nil: none.
    mutating func nextBatch() -> (entries: [InboxEntry], messages: [(gateway: NodeID, key: LiveQueryKey?)])? {
        var batch: [OutgoingMessage] = []
        repeat {
            batch = queue.nextBatch()
            if batch.isEmpty { return nil }
            batch.removeAll { $0.isMarker && $0.failuresBefore != failures }
        } while batch.isEmpty
        let entries = InboxEntry.entries(
            of: batch, bytesMax: settings.entryBytesMax, messagesMax: settings.entryMessagesMax
        ) { gateway, fields in
            StreamAppend(
                stream: keys.inbox(gateway: gateway.name), fields: fields, lengthMax: settings.inboxLengthMax,
                expireMs: settings.inboxExpireMs)
        }
        return (entries, batch.map { ($0.gateway, $0.message.key) })
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
