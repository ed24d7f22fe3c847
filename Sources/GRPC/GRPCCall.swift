package import HTTPServer
package import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// One call as the application sees it. Bound to its event loop; after its end every method does nothing.
///
/// `@unchecked Sendable`: everything mutable belongs to the event loop; other threads only carry it there.
package final class GRPCCall: @unchecked Sendable {
    package let head: GRPCCallHead
    package let taskExecutor: LoopTaskExecutor
    /// Accepted and not yet written to the connection: held back by the peer's window or its socket.
    package private(set) var pendingBytes = 0
    private let channel: any Channel
    private var hasSentHeaders = false
    private(set) var isOver = false
    private var isGathering = false
    private var isWriting = false
    private var hasFallen = false
    var onFall: ((_ pendingBytes: Int) -> Void)?
    /// Called on the loop's next turn after `finish`.
    var onFinish: (() -> Void)?
    /// From our last word to the end of a stream whose client goes on.
    private static let lingerMs: Int64 = 5_000

    init(head: GRPCCallHead, channel: any Channel, taskExecutor: LoopTaskExecutor) {
        self.head = head
        self.channel = channel
        self.taskExecutor = taskExecutor
    }

    package var eventLoop: any EventLoop { channel.eventLoop }

    /// The only message of a unary call, and its end.
    package func respond(_ message: [UInt8]) {
        send(prefix: message, shared: ByteBuffer())
        finish(.ok)
    }

    /// A frame of HTTP/2 costs more than copying this much (16 KiB: the largest frame that every peer takes).
    private static let copiedBytesMax = 16_384

    /// One message, in two parts; `shared` is not copied where it is large.
    package func send(prefix: [UInt8], shared: ByteBuffer) {
        channel.eventLoop.assertInEventLoop()
        guard !isOver else { return }
        sendHeaders()
        let length = prefix.count + shared.readableBytes
        let isWhole = 5 + length <= Self.copiedBytesMax
        var first = channel.allocator.buffer(capacity: 5 + (isWhole ? length : prefix.count))
        first.writeInteger(UInt8(0))
        first.writeInteger(UInt32(clamping: length))
        first.writeBytes(prefix)
        if isWhole { first.writeImmutableBuffer(shared) }
        isWriting = true
        write(first)
        if !isWhole, shared.readableBytes > 0 { write(shared) }
        if !isGathering { channel.flush() }
        isWriting = false
        tellOfFall()
    }

    /// Several sends in one flush.
    package func gathered(_ body: () -> Void) {
        guard !isGathering else { return body() }
        isGathering = true
        body()
        isGathering = false
        isWriting = true
        channel.flush()
        isWriting = false
        tellOfFall()
    }

    private func write(_ bytes: ByteBuffer) {
        let count = bytes.readableBytes
        pendingBytes += count
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in
            pendingBytes -= count
            hasFallen = true
            if !isWriting { tellOfFall() }
        }
        channel.write(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(bytes))), promise: promise)
    }

    /// Never inside of a send: the session would be called while it writes.
    private func tellOfFall() {
        guard hasFallen else { return }
        hasFallen = false
        channel.eventLoop.assumeIsolated().execute { [self] in
            if !isOver { onFall?(pendingBytes) }
        }
    }

    private func sendHeaders() {
        guard !hasSentHeaders else { return }
        hasSentHeaders = true
        let headers: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]
        channel.write(HTTP2Frame.FramePayload.headers(.init(headers: headers)), promise: nil)
    }

    /// A client that streams learns at once that its call was accepted.
    func begin() {
        sendHeaders()
        channel.flush()
    }

    package func finish(_ status: GRPCStatus) {
        channel.eventLoop.assertInEventLoop()
        guard !isOver else { return }
        isOver = true
        var trailers = HPACKHeaders()
        if !hasSentHeaders {
            trailers.add(name: ":status", value: "200")
            trailers.add(name: "content-type", value: "application/grpc")
        }
        // Told with UNIMPLEMENTED, as a client whose compression is not read needs it.
        if status.code == 12 { trailers.add(name: "grpc-accept-encoding", value: "identity") }
        trailers.add(name: "grpc-status", value: String(status.code))
        if !status.message.isEmpty { trailers.add(name: "grpc-message", value: Self.percentEncoded(status.message)) }
        if let ms = status.retryAfterMs { trailers.add(name: "grpc-retry-pushback-ms", value: String(ms)) }
        channel.writeAndFlush(
            HTTP2Frame.FramePayload.headers(.init(headers: trailers, endStream: true)), promise: nil)
        guard onFinish != nil else { return }
        let loop = channel.eventLoop.assumeIsolated()
        loop.execute { [self] in
            onFinish?()
            onFinish = nil
        }
        loop.scheduleTask(in: .milliseconds(Self.lingerMs)) { [channel] in channel.close(promise: nil) }
    }

    func lost() { isOver = true }

    /// Source: gRPC over HTTP/2, "Percent-Encoded": what is printable ASCII but for `%` stays.
    static func percentEncoded(_ message: String) -> String {
        var text = ""
        for byte in message.utf8 {
            if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let hex = String(byte, radix: 16, uppercase: true)
                text += "%" + (hex.utf8.count == 1 ? "0" : "") + hex
            }
        }
        return text
    }
}
