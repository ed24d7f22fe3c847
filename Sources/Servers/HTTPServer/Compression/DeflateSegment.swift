import NIOCore

/// A body in compressed blocks that depend on nothing before them, to be shared by many messages.
struct DeflateSegment: Sendable {
    let isCompressed: Bool
    /// The blocks; they end at a byte.
    let blocks: ByteBuffer
    /// The blocks as the end of a WebSocket message (RFC 7692 section 7.2.1).
    let messageEnd: ByteBuffer
    /// The length of the body.
    let plainBytes: Int
    let crc: UInt32
    /// `GzipChecksum.shift(plainBytes)`.
    let shift: UInt32

    /// - Parameter blocks: end with `DeflateBlocks.flush`.
    init(blocks: ByteBuffer, of plain: ByteBuffer) {
        isCompressed = true
        self.blocks = blocks
        messageEnd =
            blocks.getSlice(at: blocks.readerIndex, length: blocks.readableBytes - DeflateBlocks.flush.count)
            ?? ByteBuffer()
        plainBytes = plain.readableBytes
        crc = plain.withUnsafeReadableBytes(Deflater.crc)
        shift = GzipChecksum.shift(plainBytes)
    }

    /// Creates stored blocks, for gzip only.
    init(storing plain: ByteBuffer) {
        var blocks = ByteBuffer()
        let count = DeflateBlocks.storedBytes(plain.readableBytes)
        blocks.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { memory in
            plain.withUnsafeReadableBytes { $0.isEmpty ? 0 : DeflateBlocks.store($0, to: memory.baseAddress!) }
        }
        isCompressed = false
        self.blocks = blocks
        messageEnd = ByteBuffer()
        plainBytes = plain.readableBytes
        crc = plain.withUnsafeReadableBytes(Deflater.crc)
        shift = GzipChecksum.shift(plainBytes)
    }
}
