package import Observability
package import Tracing

/// A span that has ended, as it is exported.
package struct SpanRecord: Sendable {
    /// The events, and the links, that a span keeps.
    static let eventsMax = 32

    package let identity: TraceParent
    package let parentID: String?
    package var name: String
    package let kind: SpanKind
    /// Nanoseconds since 1970.
    package let startNs: UInt64
    package var endNs: UInt64
    package var attributes: SpanAttributes = [:]
    package var events: [SpanEvent] = []
    package var links: [TraceParent] = []
    package var status: SpanStatus?

    package init(
        _ identity: TraceParent, parentID: String?, _ name: String, _ kind: SpanKind, _ startNs: UInt64
    ) {
        self.identity = identity
        self.parentID = parentID
        self.name = name
        self.kind = kind
        self.startNs = startNs
        endNs = startNs
    }
}
