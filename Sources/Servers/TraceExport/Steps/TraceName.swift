import LiveModel
package import Observability
import Tracing

/// The name of a mutation's trace on all nodes: `TRACEID-SPANID`.
package struct TraceName: Sendable, Hashable {
    package let traceID: TraceID
    /// The mutation's own span.
    package let mutation: String
    private let text: String

    /// - Returns: nil for a trace of a node that names no span.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 16, let traceID = TraceID(hex: parts[0]) else { return nil }
        self.traceID = traceID
        mutation = String(parts[1])
        self.text = text
    }

    /// Returns the id of another span of the trace, the same on every node.
    package func id(_ parts: String...) -> String {
        let digest = Digest(of: Array(([text] + parts).joined(separator: "\u{0}").utf8))
        return String(digest.hex.prefix(16))
    }

    /// Creates a child of the mutation's span.
    func span(_ name: String, _ kind: SpanKind, from startUs: Int64, to endUs: Int64, id: String) -> TraceSpan {
        TraceSpan(
            name: name, kind: kind, traceID: traceID, spanID: id, parentID: mutation, startUs: startUs, endUs: endUs)
    }
}
