import NIOCore
import NIOHTTP2

/// One HTTP/2 frame. Source: RFC 9113 section 4.1.
struct HTTP2WireFrame {
    enum Kind: UInt8 {
        case data = 0
        case headers = 1
        case priority = 2
        case resetStream = 3
        case settings = 4
        case pushPromise = 5
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        case continuation = 9
    }

    /// Flags share values: ACK belongs to SETTINGS and PING, END_STREAM to DATA and HEADERS.
    static let acknowledges: UInt8 = 0x1
    static let endsStream: UInt8 = 0x1
    static let endsHeaders: UInt8 = 0x4
    static let isPadded: UInt8 = 0x8
    static let hasPriority: UInt8 = 0x20

    static let headBytes = 9
    /// The largest payload that both sides accept without other settings (SETTINGS_MAX_FRAME_SIZE).
    static let payloadBytesMax = 16_384

    /// Nil: a type that we do not know, to be ignored.
    let kind: Kind?
    let flags: UInt8
    let id: HTTP2StreamID
    var payload: ByteBuffer

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// Writes the head of a frame with this payload size.
    static func writeHead(
        _ kind: Kind, flags: UInt8 = 0, id: HTTP2StreamID, payloadBytes: Int, to memory: UnsafeMutableRawPointer
    ) {
        memory.storeBytes(
            of: (UInt32(payloadBytes) << 8 | UInt32(kind.rawValue)).bigEndian, as: UInt32.self)
        memory.storeBytes(of: flags, toByteOffset: 4, as: UInt8.self)
        memory.storeBytes(of: UInt32(Int(id)).bigEndian, toByteOffset: 5, as: UInt32.self)
    }
}

extension ByteBuffer {
    mutating func writeFrameHead(
        _ kind: HTTP2WireFrame.Kind, flags: UInt8 = 0, id: HTTP2StreamID, payloadBytes: Int
    ) {
        writeInteger(UInt32(payloadBytes) << 8 | UInt32(kind.rawValue))
        writeInteger(flags)
        writeInteger(UInt32(Int(id)))
    }
}

/// Divides the bytes of a client into frames, after the preface.
struct FrameReader {
    enum Next {
        case frame(HTTP2WireFrame)
        /// More bytes are needed.
        case incomplete
        /// The bytes do not begin with the preface (RFC 9113 section 3.4).
        case notHTTP2
        /// The frame exceeds `HTTP2WireFrame.payloadBytesMax`; reported before it has arrived.
        case tooLong
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// Bytes of a frame that is incomplete: at most `payloadBytesMax` and a head, and during a read what was read.
    private var buffer = ByteBuffer()
    /// Whether `buffer` is ours alone and not the memory into which the channel read.
    private var isOwned = true
    private var hasPreface = false

    mutating func append(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
            isOwned = false
        } else {
            buffer.writeImmutableBuffer(bytes)
        }
    }

    mutating func next() -> Next {
        if !hasPreface {
            guard buffer.readableBytes >= Self.preface.count else { return .incomplete }
            guard buffer.readBytes(length: Self.preface.count) == Self.preface else { return .notHTTP2 }
            hasPreface = true
        }
        let start = buffer.readerIndex
        guard let lengthAndType: UInt32 = buffer.getInteger(at: start),
            let flags: UInt8 = buffer.getInteger(at: start + 4), let id: UInt32 = buffer.getInteger(at: start + 5)
        else { return .incomplete }
        let length = Int(lengthAndType >> 8)
        guard length <= HTTP2WireFrame.payloadBytesMax else { return .tooLong }
        guard buffer.readableBytes >= HTTP2WireFrame.headBytes + length else { return .incomplete }
        buffer.moveReaderIndex(forwardBy: HTTP2WireFrame.headBytes)
        guard let payload = buffer.readSlice(length: length) else { return .incomplete }
        return .frame(
            HTTP2WireFrame(
                kind: .init(rawValue: UInt8(lengthAndType & 0xFF)), flags: flags,
                // The first bit is reserved and ignored.
                id: HTTP2StreamID(Int(id & 0x7FFF_FFFF)), payload: payload))
    }

    /// Called when the read is over: an idle connection keeps no memory, a slow one only what is incomplete.
    mutating func settle() {
        if buffer.readableBytes == 0 {
            buffer = ByteBuffer()
        } else if !isOwned || buffer.capacity > 4 * buffer.readableBytes + 1_024 {
            buffer = ByteBuffer(bytes: buffer.readableBytesView)
        } else if buffer.readerIndex > 0 {
            buffer.discardReadBytes()
        }
        isOwned = true
    }
}
