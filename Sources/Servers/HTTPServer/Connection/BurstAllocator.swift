import NIOCore

/// Allocates receive buffers that start small, grow while a peer sends in bulk and shrink again right after.
///
/// NIO keeps one receive buffer per channel, and its adaptive allocator lets that buffer stay large; with thousands of
/// idle connections that is most of their memory. Giving no size hint and reporting "may grow" stops NIO from pooling
/// beyond the first buffer.
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
