import Clocks
import NIOCore

/// The compression of one event loop: its streams of zlib, which all connections share, and its budget. Owned by its
/// event loop.
final class LoopCompression {
    enum Outcome {
        case compressed(DeflateSegment)
        /// The body is too short, too long, or would not become shorter.
        case plain
        case overBudget
    }

    let configuration: CompressionConfiguration
    private let context: ServerContext
    private var policy: CompressionPolicy
    /// Made when they are first needed.
    private var deflaters: [DeflateWindow: Deflater] = [:]
    private var inflater: Inflater?

    init(_ configuration: CompressionConfiguration, _ context: ServerContext) {
        self.configuration = configuration
        self.context = context
        policy = CompressionPolicy(configuration)
    }

    var nowMs: Int64 { MonotonicClock.nowMs() }

    /// Compresses a body.
    func segment(of bytes: ByteBuffer, _ window: DeflateWindow) -> Outcome {
        // Most messages are short, and these need no clock.
        if bytes.readableBytes < configuration.bodyBytesMin { return .plain }
        switch policy.decide(byteCount: bytes.readableBytes, nowMs: nowMs) {
        case .leave: return .plain
        case .overBudget:
            context.counters.compressionsOverBudgetTotal.increment()
            return .overBudget
        case .compress: break
        }
        guard let deflater = deflater(window) else { return .plain }
        context.counters.compressionsTotal.increment()
        context.counters.compressedBodyBytesTotal.add(bytes.readableBytes)
        return deflater.segment(bytes).map { .compressed(DeflateSegment(blocks: $0, of: bytes)) } ?? .plain
    }

    private func deflater(_ window: DeflateWindow) -> Deflater? {
        if let known = deflaters[window] { return known }
        let new = Deflater(window, level: configuration.level)
        deflaters[window] = new
        return new
    }

    func inflate(_ payload: ByteBuffer, bytesMax: Int) -> Inflater.Outcome {
        if inflater == nil { inflater = Inflater() }
        return inflater?.inflate(payload, bytesMax: bytesMax) ?? .malformed
    }

    /// Returns a body as a whole gzip file; nil to send it as it is.
    func gzip(_ body: ByteBuffer) -> ByteBuffer? {
        guard case .compressed(let segment) = segment(of: body, .large) else { return nil }
        return Self.gzip(segment)
    }

    static func gzip(_ segment: DeflateSegment) -> ByteBuffer {
        var file = ByteBuffer()
        file.reserveCapacity(
            DeflateBlocks.gzipHeader.count + segment.blocks.readableBytes + DeflateBlocks.gzipEndBytes)
        file.writeBytes(DeflateBlocks.gzipHeader)
        file.writeImmutableBuffer(segment.blocks)
        var checksum = GzipChecksum()
        checksum.append(crc: segment.crc, length: segment.plainBytes, shift: segment.shift)
        file.writeBytes(DeflateBlocks.gzipEnd(checksum))
        return file
    }

    /// Counts a message that is sent compressed.
    /// - Parameters:
    ///   - plainBytes: its length without compression.
    ///   - sentBytes: the length that is sent.
    func sent(plainBytes: Int, sentBytes: Int) {
        context.counters.compressedMessagesTotal.increment()
        context.counters.compressedMessageBytesTotal.add(plainBytes)
        context.counters.compressedSentBytesTotal.add(sentBytes)
    }
}

@available(*, unavailable)
extension LoopCompression: Sendable {}
