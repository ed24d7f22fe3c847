import NIOCore
import NIOHPACK

/// The state of one open stream: its windows, and what waits for the client's window. Source: RFC 9113 sections 5.1 and
/// 5.2.
struct HTTP2Stream {
    /// The client's window: bytes that it may still send.
    var inboundLeft = InboundWindow.bytes
    /// Our window: bytes that we may still send; below 0 after the client has reduced the window of new streams.
    var outboundLeft: Int
    /// The rest of the announced length; nil: none was announced.
    var contentLeft: Int?
    var hasInputEnded: Bool
    /// Our last frame is written.
    var hasOutputEnded = false
    /// Whether the stream is in `HTTP2Machine.ready`.
    var isReady = false
    /// Data that waits. Not bounded here: the application learns how much waits and stops.
    private var waiting: [ByteBuffer] = []
    /// The number of buffers at the beginning of `waiting` that were written.
    private var writtenCount = 0
    /// Written after all data; ends the output.
    var trailers: HPACKHeaders?

    init(outboundLeft: Int, contentLeft: Int?, hasInputEnded: Bool) {
        self.outboundLeft = outboundLeft
        self.contentLeft = contentLeft
        self.hasInputEnded = hasInputEnded
    }

    var hasWaitingData: Bool { writtenCount < waiting.count }

    mutating func append(_ bytes: ByteBuffer) {
        if bytes.readableBytes > 0 { waiting.append(bytes) }
    }

    /// Moves waiting data to `memory`, as much as fits.
    /// - Returns: the number of bytes.
    mutating func take(into memory: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while hasWaitingData, count < memory.count {
            let length = min(waiting[writtenCount].readableBytes, memory.count - count)
            waiting[writtenCount].withUnsafeReadableBytes { bytes in
                (memory.baseAddress! + count).copyMemory(from: bytes.baseAddress!, byteCount: length)
            }
            waiting[writtenCount].moveReaderIndex(forwardBy: length)
            count += length
            if waiting[writtenCount].readableBytes == 0 {
                waiting[writtenCount] = ByteBuffer()
                writtenCount += 1
            }
        }
        if !hasWaitingData {
            waiting = []
            writtenCount = 0
        } else if writtenCount >= 64, writtenCount * 2 > waiting.count {
            waiting.removeFirst(writtenCount)
            writtenCount = 0
        }
        return count
    }
}
