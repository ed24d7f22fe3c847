import CZlib
import NIOCore

/// Decompresses the messages of WebSocket clients, each on its own. Owned by its event loop.
final class Inflater {
    enum Outcome: Equatable {
        case bytes(ByteBuffer)
        /// The message is longer than allowed.
        case tooLong
        /// The bytes are no compressed message.
        case malformed
    }

    /// The most final blocks within one message. Senders end a message with at most one; each costs a reset.
    private static let finalBlocksMax = 16
    private static let chunkBytes = 16 * 1_024

    private let stream: UnsafeMutablePointer<z_stream>

    /// - Returns: nil if there is no memory.
    init?() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(
            stream, -CInt(DeflateWindow.large.rawValue), ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        if status != Z_OK { return nil }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses the payload of a message (RFC 7692 section 7.2.2).
    func inflate(_ payload: ByteBuffer, bytesMax: Int) -> Outcome {
        guard inflateReset(stream) == Z_OK else { return .malformed }
        var payload = payload
        payload.writeBytes(DeflateBlocks.flush)
        var output = ByteBuffer()
        var finalBlocks = 0
        let status = payload.withUnsafeReadableBytes { input -> Outcome? in
            stream.pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress!)
                .assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_in = CUnsignedInt(input.count)
            while true {
                // One byte of room beyond the maximum tells a message of just that length from a longer one.
                let room = min(Self.chunkBytes, bytesMax - output.readableBytes + 1)
                var status = Z_OK
                output.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { memory in
                    stream.pointee.next_out = memory.baseAddress!.assumingMemoryBound(to: UInt8.self)
                    stream.pointee.avail_out = CUnsignedInt(room)
                    status = CZlib.inflate(stream, Z_SYNC_FLUSH)
                    return room - Int(stream.pointee.avail_out)
                }
                guard output.readableBytes <= bytesMax else { return .tooLong }
                switch status {
                case Z_STREAM_END:
                    finalBlocks += 1
                    if stream.pointee.avail_in == 0 { return nil }
                    guard finalBlocks <= Self.finalBlocksMax, inflateReset(stream) == Z_OK else { return .malformed }
                case Z_OK, Z_BUF_ERROR:
                    // 128: between two blocks, so no output is due either. A further call would lose that.
                    if stream.pointee.avail_in == 0, stream.pointee.data_type & 128 != 0 { return nil }
                    // With room left, only more input could help.
                    if stream.pointee.avail_out > 0 { return .malformed }
                default: return .malformed
                }
            }
        }
        return status ?? .bytes(output)
    }
}

@available(*, unavailable)
extension Inflater: Sendable {}
