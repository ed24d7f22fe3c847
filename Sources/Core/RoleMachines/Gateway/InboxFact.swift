package import LiveModel
package import Streams

/// A fact that a gateway reads from its inbox.
package enum InboxFact: Sendable, Hashable {
    case message(InboxMessage)
    /// The node wrote the entry to find out whether its inbox can be used.
    case probe
    /// Messages may be missing, so owners may believe that this gateway holds results that it does not.
    case lost(InboxLoss)
    /// Everything up to this entry has been read.
    case read(upTo: StreamID)
}

/// The reason why messages may be missing.
package enum InboxLoss: Sendable, Hashable {
    /// The stream lost entries, or another server answers.
    case signal(StreamSignal)
    /// The entry is not of this format. The owner assumes that the gateway has its messages.
    case unreadable(StreamID)
}

extension StreamBatch {
    /// Decodes the batch of an inbox. Facts come one by one, so that the first message need not wait for the decoding
    /// of the others. At most one is a loss: the announcements that follow it cover the whole batch.
    package func forEachInboxFact(_ body: (InboxFact) -> Void) {
        var isLost = signal != nil
        if let signal { body(.lost(.signal(signal))) }
        for entry in entries {
            if entry.isProbe {
                body(.probe)
                continue
            }
            if let messages = try? InboxMessage.all(in: entry.fields) {
                for message in messages { body(.message(message)) }
            } else if !isLost {
                isLost = true
                body(.lost(.unreadable(entry.id)))
            }
        }
        if let last = entries.last { body(.read(upTo: last.id)) }
    }
}
