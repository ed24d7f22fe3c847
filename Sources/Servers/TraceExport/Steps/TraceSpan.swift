package import Observability
package import Tracing

/// A span of a traced mutation as it ends: a part of its way that has a beginning and an end.
package struct TraceSpan: Sendable, Hashable {
    package enum Attribute: Sendable, Hashable {
        case text(String)
        case number(Int64)
        case texts([String])
    }

    package var name: String
    package var kind: SpanKind
    package var traceID: TraceID
    /// 16 hexadecimal digits.
    package var spanID: String
    /// Nil for the root of the trace.
    package var parentID: String?
    /// Microseconds since 1970.
    package var startUs: Int64
    package var endUs: Int64
    package var attributes: [String: Attribute] = [:]
    /// The code of the error with which it ended; nil if it ended well.
    package var error: String?
}
