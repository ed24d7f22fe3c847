package import Tracing

/// A span as its children name it: the header `traceparent`. Source: W3C Trace Context, §3.2 "traceparent header".
package struct TraceParent: Hashable, Sendable, CustomStringConvertible {
    package let traceID: TraceID
    /// 16 lower-case hexadecimal digits, not all zero.
    package let spanID: String
    /// Whether the caller records its trace.
    package let isSampled: Bool

    package init(traceID: TraceID, spanID: String = makeSpanID(), isSampled: Bool) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
    }

    /// Reads the header: `version-traceid-parentid-flags`, lower-case hexadecimal. Nil if it is invalid, in which case
    /// the standard requires a new trace. Fields that versions after 00 append are ignored.
    package init?(_ header: some StringProtocol) {
        let fields = header.utf8.prefix(Self.bytesMax + 1).split(
            separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard header.utf8.count <= Self.bytesMax, fields.count >= 4,
            let version = TraceID.bytes(fields[0]), version.count == 1, version[0] != 0xFF,
            version[0] != 0 || fields.count == 4,
            let parent = TraceID.bytes(fields[2]), parent.count == 8, parent.contains(where: { $0 != 0 }),
            let flags = TraceID.bytes(fields[3]), flags.count == 1,
            let traceID = TraceID(hex: String(decoding: Array(fields[1]), as: UTF8.self))
        else { return nil }
        self.init(
            traceID: traceID, spanID: String(decoding: Array(fields[2]), as: UTF8.self),
            isSampled: flags[0] & 1 == 1)
    }

    /// Version 00 has 55 bytes; later versions may be longer, up to this.
    private static let bytesMax = 512

    package var description: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    /// The name of the header.
    package static let headerName = "traceparent"

    /// Returns a new random span id.
    package static func makeSpanID() -> String { String(TraceID().hex.suffix(16)) }
}

private enum TraceParentKey: ServiceContextKey {
    typealias Value = TraceParent
    static let nameOverride: String? = "traceparent"
}

extension ServiceContext {
    /// Performs work of which the calls to other servers have this span as their parent.
    /// - Parameter parent: nil leaves the context as it is, which costs nothing.
    package static func within<Value: Sendable, Failure: Error>(
        _ parent: TraceParent?, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard let parent else { return try await body() }
        var context = ServiceContext.current ?? .topLevel
        context.traceParent = parent
        return try await ServiceContext.$current.withValue(context) { () async -> Result<Value, Failure> in
            do throws(Failure) {
                return .success(try await body())
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// The span in progress, which calls to other servers name as their parent.
    package var traceParent: TraceParent? {
        get { self[TraceParentKey.self] }
        set { self[TraceParentKey.self] = newValue }
    }
}
