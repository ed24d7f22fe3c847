package import LiveModel
package import Streams

/// A message to a gateway with its append to the gateway's inbox.
package struct OutgoingMessage: Sendable {
    package let gateway: NodeID
    package let message: InboxMessage
    package let append: StreamAppend

    package init(to gateway: NodeID, _ message: InboxMessage, append: StreamAppend) {
        self.gateway = gateway
        self.message = message
        self.append = append
    }

    var bytes: Int { append.fields.reduce(0) { $0 + $1.value.count } }
}
