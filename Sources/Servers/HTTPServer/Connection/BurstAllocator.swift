import NIOCore

/// Receive buffers that start small, grow while a peer sends in bulk and are small again right after.
///
/// NIO keeps one receive buffer per channel and its adaptive allocator lets that stay large; with thousands of idle
/// connections this is most of their memory. No size hint and "may grow" tell NIO not to pool beyond the first buffer.
struct BurstAllocator: RecvByteBufferAllocator {
    static let idleBytes = 512
    static let burstBytesMax = 16 * 1024
    private var size = BurstAllocator.idleBytes

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: size)
    }

    mutating func record(actualReadBytes: Int) -> Bool {
        size = actualReadBytes >= size ? min(size * 4, Self.burstBytesMax) : Self.idleBytes
        return true
    }
}
