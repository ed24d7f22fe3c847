import CZlib
import NIOCore

/// Compresses bodies, each on its own: nothing is remembered from one to the next. Owned by its event loop.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Returns: nil if there is no memory.
    init?(_ window: DeflateWindow, level: Int) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = deflateInit2_(
            stream, CInt(level), Z_DEFLATED, -CInt(window.rawValue), 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
        if status != Z_OK { return nil }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses the bytes to blocks that end with an empty one at a byte (`DeflateBlocks.flush`).
    /// - Returns: nil if that would not be shorter.
    func segment(_ bytes: ByteBuffer) -> ByteBuffer? {
        // Stored blocks would be longer than the bytes: the end of the room is the end of the attempt.
        let room = bytes.readableBytes
        guard room > 0, deflateReset(stream) == Z_OK else { return nil }
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
        defer { output.deallocate() }
        return bytes.withUnsafeReadableBytes { input in
            stream.pointee.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress!)
                .assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_in = CUnsignedInt(input.count)
            stream.pointee.next_out = output.baseAddress!.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = CUnsignedInt(room)
            let status = deflate(stream, Z_SYNC_FLUSH)
            // Without room left, the flush may not be complete.
            guard status == Z_OK, stream.pointee.avail_in == 0, stream.pointee.avail_out > 0 else { return nil }
            return ByteBuffer(bytes: output[..<(room - Int(stream.pointee.avail_out))])
        }
    }

    /// The checksum of gzip.
    static func crc(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard let base = bytes.baseAddress else { return 0 }
        return UInt32(truncatingIfNeeded: crc32_z(0, base.assumingMemoryBound(to: UInt8.self), bytes.count))
    }
}

@available(*, unavailable)
extension Deflater: Sendable {}
