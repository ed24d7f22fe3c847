import NIOCore

/// Assembles the messages of one direction of a call from arbitrarily split bytes. Source: gRPC over HTTP/2,
/// "Length-Prefixed-Message".
struct GRPCMessages {
    enum Next: Equatable {
        case message(ByteBuffer)
        /// More bytes are needed.
        case incomplete
        case compressed
        /// The message exceeds `bytesMax`; reported before it has arrived.
        case tooLong
    }

    /// The compression flag and the length before each message.
    static let headBytes = 5

    let bytesMax: Int
    /// Bytes of a message that is incomplete or not wanted yet: at most `bytesMax` and one flow-control window.
    private var buffer = ByteBuffer()

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    var heldBytes: Int { buffer.readableBytes }

    mutating func append(_ bytes: ByteBuffer) { buffer.writeImmutableBuffer(bytes) }

    /// Returns the next message. Each follows five bytes: the compression flag and its length.
    mutating func next() -> Next {
        guard let isCompressed: UInt8 = buffer.getInteger(at: buffer.readerIndex),
            let length: UInt32 = buffer.getInteger(at: buffer.readerIndex + 1)
        else { return .incomplete }
        if isCompressed != 0 { return .compressed }
        if Int(length) > bytesMax { return .tooLong }
        guard buffer.readableBytes >= 5 + Int(length) else { return .incomplete }
        buffer.moveReaderIndex(forwardBy: 5)
        guard let message = buffer.readSlice(length: Int(length)) else { return .incomplete }
        // An idle call keeps no memory.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() } else { buffer.discardReadBytes() }
        return .message(message)
    }
}
