import NIOCore

/// Puts the messages of one side of a call together, however their bytes come. Source: gRPC over HTTP/2,
/// "Length-Prefixed-Message".
struct GRPCMessages {
    enum Next: Equatable {
        case message(ByteBuffer)
        /// More has to come first.
        case incomplete
        case compressed
        /// It has more than `bytesMax`; told before it has come.
        case tooLong
    }

    let bytesMax: Int
    /// Of a message that is not whole, or that is not wanted yet: at most `bytesMax` and what a window lets in.
    private var buffer = ByteBuffer()

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    var heldBytes: Int { buffer.readableBytes }

    mutating func append(_ bytes: ByteBuffer) { buffer.writeImmutableBuffer(bytes) }

    /// Each message stands after five bytes: whether it is compressed, and its length.
    mutating func next() -> Next {
        guard let isCompressed: UInt8 = buffer.getInteger(at: buffer.readerIndex),
            let length: UInt32 = buffer.getInteger(at: buffer.readerIndex + 1)
        else { return .incomplete }
        if isCompressed != 0 { return .compressed }
        if Int(length) > bytesMax { return .tooLong }
        guard buffer.readableBytes >= 5 + Int(length) else { return .incomplete }
        buffer.moveReaderIndex(forwardBy: 5)
        guard let message = buffer.readSlice(length: Int(length)) else { return .incomplete }
        // A call that is silent keeps no memory.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() } else { buffer.discardReadBytes() }
        return .message(message)
    }
}
