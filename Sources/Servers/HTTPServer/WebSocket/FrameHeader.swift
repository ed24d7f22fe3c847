package import NIOCore

/// Frame headers as a server sends them (RFC 6455 section 5.2): never masked, never fragmented.
enum FrameHeader {
    static let text: UInt8 = 0x81
    static let binary: UInt8 = 0x82
    /// Marks the first frame of a compressed message (RFC 7692 section 6).
    static let compressed: UInt8 = 0x40
    static let close: UInt8 = 0x88
    static let ping: UInt8 = 0x89
    static let pong: UInt8 = 0x8A

    /// The longest header.
    static let bytesMax = 10

    /// Writes the header of a frame with `length` bytes of payload; returns its size.
    @inline(__always)
    static func write(_ first: UInt8, length: Int, to memory: UnsafeMutableRawPointer) -> Int {
        memory.storeBytes(of: first, as: UInt8.self)
        if length < 126 {
            memory.storeBytes(of: UInt8(length), toByteOffset: 1, as: UInt8.self)
            return 2
        }
        if length <= 0xFFFF {
            memory.storeBytes(of: 126, toByteOffset: 1, as: UInt8.self)
            memory.storeBytes(of: UInt8(length >> 8), toByteOffset: 2, as: UInt8.self)
            memory.storeBytes(of: UInt8(length & 0xFF), toByteOffset: 3, as: UInt8.self)
            return 4
        }
        memory.storeBytes(of: 127, toByteOffset: 1, as: UInt8.self)
        for index in 0..<8 {
            memory.storeBytes(of: UInt8(length >> (56 - 8 * index) & 0xFF), toByteOffset: 2 + index, as: UInt8.self)
        }
        return 10
    }
}

/// A complete text frame, encoded once for many connections.
package struct EncodedTextFrame: Sendable {
    let bytes: ByteBuffer
    /// The length of the text; nil unless it is compressed.
    private(set) var plainBytes: Int?

    /// Creates the frame of a compressed message.
    /// - Parameter prefix: the text before the segment's body.
    init(prefix: [UInt8], _ segment: DeflateSegment) {
        let stored = DeflateBlocks.stored(prefix)
        let length = stored.count + segment.messageEnd.readableBytes
        var bytes = ByteBufferAllocator().buffer(capacity: length + FrameHeader.bytesMax)
        withUnsafeTemporaryAllocation(byteCount: FrameHeader.bytesMax, alignment: 8) { header in
            let size = FrameHeader.write(
                FrameHeader.text | FrameHeader.compressed, length: length, to: header.baseAddress!)
            _ = bytes.writeBytes(UnsafeRawBufferPointer(rebasing: header[..<size]))
        }
        bytes.writeBytes(stored)
        bytes.writeImmutableBuffer(segment.messageEnd)
        self.bytes = bytes
        plainBytes = prefix.count + segment.plainBytes
    }

    package init(text: ByteBuffer) {
        var bytes = ByteBufferAllocator().buffer(capacity: text.readableBytes + FrameHeader.bytesMax)
        withUnsafeTemporaryAllocation(byteCount: FrameHeader.bytesMax, alignment: 8) { header in
            let size = FrameHeader.write(
                FrameHeader.text, length: text.readableBytes, to: header.baseAddress!)
            _ = bytes.writeBytes(UnsafeRawBufferPointer(rebasing: header[..<size]))
        }
        bytes.writeImmutableBuffer(text)
        self.bytes = bytes
    }

    /// The size of header and payload.
    package var byteCount: Int { bytes.readableBytes }
}
