package import NIOCore
import Synchronization

/// Bytes that many connections send, with their compressed forms, each made at most once.
package final class SharedBody: Sendable {
    package let bytes: ByteBuffer
    /// Locked, because a stream may be on another event loop than the session that writes to it.
    private let forms = Mutex(Forms())
    private let made = Atomic<Int>(0)

    private struct Forms {
        var small: Form?
        var large: Form?
        var stored: DeflateSegment?

        subscript(window: DeflateWindow) -> Form? {
            get { window == .small ? small : large }
            set { if window == .small { small = newValue } else { large = newValue } }
        }
    }

    private enum Form {
        case segment(DeflateSegment)
        /// The body is not worth it.
        case plain
        /// The loop had compressed as much as it may.
        case overBudget(untilMs: Int64)
    }

    package init(_ bytes: ByteBuffer) {
        self.bytes = bytes
    }

    package convenience init(bytes: [UInt8]) {
        self.init(ByteBuffer(bytes: bytes))
    }

    /// Returns the compressed form; nil to send the bytes as they are.
    func segment(_ window: DeflateWindow, _ compression: LoopCompression) -> DeflateSegment? {
        forms.withLock { segment(window, compression, &$0) }
    }

    /// Returns the blocks for a gzip stream, compressed or stored.
    func gzipSegment(_ compression: LoopCompression) -> DeflateSegment {
        forms.withLock { forms in
            if let segment = segment(.large, compression, &forms) ?? forms.stored { return segment }
            let segment = DeflateSegment(storing: bytes)
            forms.stored = segment
            made.increment()
            return segment
        }
    }

    private func segment(
        _ window: DeflateWindow, _ compression: LoopCompression, _ forms: inout Forms
    ) -> DeflateSegment? {
        switch forms[window] {
        case .segment(let segment): return segment
        case .plain: return nil
        case .overBudget(let untilMs) where compression.nowMs < untilMs: return nil
        case .overBudget, nil: break
        }
        switch compression.segment(of: bytes, window) {
        case .compressed(let segment):
            forms[window] = .segment(segment)
            made.increment()
            return segment
        case .plain:
            forms[window] = .plain
        case .overBudget:
            forms[window] = .overBudget(untilMs: compression.nowMs + CompressionPolicy.retryMs)
        }
        return nil
    }

    /// The number of compressed forms that are kept.
    package var formCount: Int { made.load(ordering: .relaxed) }
}
