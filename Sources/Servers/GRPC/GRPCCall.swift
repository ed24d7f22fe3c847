package import HTTPServer
package import NIOCore
import NIOHPACK
import NIOHTTP2

/// One call as the application sees it. Bound to its event loop; after the call has ended every method does nothing.
///
/// `@unchecked Sendable`: everything mutable belongs to the event loop; other threads only carry it there.
package final class GRPCCall: @unchecked Sendable {
    package let eventLoop: any EventLoop
    package let taskExecutor: LoopTaskExecutor
    /// Bytes accepted but not written to the connection, because the peer's window or the socket is full.
    package var pendingBytes: Int { progress.pendingBytes }
    /// The rate of the client's address, for which the messages of a streaming call count; set before the first one.
    package var addressRate: AddressRate?
    private var progress = WriteProgress()
    private let id: HTTP2StreamID
    /// Nil once the stream is over.
    private var connection: GRPCConnection?
    private var hasSentHeaders = false
    private(set) var isOver = false
    /// Whether the application may have seen pending bytes and must be notified when they decrease.
    private var notifiesDecrease = false
    private var isNotifying = false
    var onPendingBytesDecreased: ((_ pendingBytes: Int) -> Void)?
    /// Called on the loop's next turn after `finish`.
    var onFinish: (() -> Void)?
    /// The limit on a status message before it is encoded: clients bound the headers that they accept.
    private static let messageBytesMax = 2_048

    init(_ id: HTTP2StreamID, _ connection: GRPCConnection) {
        self.id = id
        self.connection = connection
        eventLoop = connection.eventLoop
        taskExecutor = connection.taskExecutor
    }

    /// Sends the only message of a unary call and ends the call.
    package func respond(_ message: [UInt8]) {
        gathered {
            send(prefix: message, shared: ByteBuffer())
            finish(.ok)
        }
    }

    /// Sends one message in two parts; `shared` is not copied if it has to wait and is large.
    package func send(prefix: [UInt8], shared: ByteBuffer) {
        eventLoop.assertInEventLoop()
        guard !isOver, let connection else { return }
        sendHeaders()
        if !connection.sendDirectly(prefix: prefix, shared: shared, on: id) {
            let length = prefix.count + shared.readableBytes
            let isWhole = length <= Self.copiedBytesMax
            var first = ByteBuffer()
            first.reserveCapacity(GRPCMessages.headBytes + (isWhole ? length : prefix.count))
            first.writeInteger(UInt8(0))
            first.writeInteger(UInt32(clamping: length))
            first.writeBytes(prefix)
            if isWhole { first.writeImmutableBuffer(shared) }
            accepted(GRPCMessages.headBytes + length)
            connection.send(first, on: id)
            if !isWhole { connection.send(shared, on: id) }
            connection.flush()
        }
        notifiesDecrease = pendingBytes > 0
        if notifiesDecrease { connection.awaitProgress() }
    }

    /// Up to this size, a copy is cheaper than to hold both parts.
    private static let copiedBytesMax = 1_024

    /// When the call is reset if its client accepts nothing; nil while nothing is pending.
    func stallDeadline(timeoutMs: Int64) -> NIODeadline? { progress.stallDeadline(timeoutMs: timeoutMs) }

    /// Sends everything that `body` sends in one flush.
    package func gathered(_ body: () -> Void) {
        guard let connection else { return body() }
        connection.gathered(body)
    }

    func accepted(_ bytes: Int) { progress.accepted(bytes, now: eventLoop.now) }

    /// Called when the socket took bytes.
    func wrote(_ bytes: Int) {
        progress.taken(bytes, now: eventLoop.now)
        if notifiesDecrease { notifyDecrease() }
    }

    /// Notifies on the loop's next turn: inside a send, the session would be called while it writes.
    private func notifyDecrease() {
        guard !isNotifying, !isOver else { return }
        isNotifying = true
        eventLoop.assumeIsolated().execute { [self] in
            isNotifying = false
            notifiesDecrease = pendingBytes > 0
            if !isOver { onPendingBytesDecreased?(pendingBytes) }
        }
    }

    private func sendHeaders() {
        guard !hasSentHeaders else { return }
        hasSentHeaders = true
        let headers: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]
        connection?.sendHeaders(headers, on: id)
    }

    /// Sends the headers, so that a streaming client learns at once that its call was accepted.
    func begin() {
        sendHeaders()
        connection?.flush()
    }

    /// Ends the call with a status.
    package func finish(_ status: GRPCStatus) {
        eventLoop.assertInEventLoop()
        guard !isOver else { return }
        isOver = true
        var trailers = HPACKHeaders()
        if !hasSentHeaders {
            trailers.add(name: ":status", value: "200")
            trailers.add(name: "content-type", value: "application/grpc")
        }
        // A client whose compression is not supported needs it with UNIMPLEMENTED.
        if status.code == 12 { trailers.add(name: "grpc-accept-encoding", value: "identity") }
        trailers.add(name: "grpc-status", value: String(status.code))
        if !status.message.isEmpty {
            let message = Self.cut(status.message)
            trailers.add(name: "grpc-message", value: Self.percentEncoded(message))
            trailers.add(name: "grpc-status-details-bin", value: StatusDetails.encoded(status.code, message))
        }
        if let ms = status.retryAfterMs { trailers.add(name: "grpc-retry-pushback-ms", value: String(ms)) }
        end(trailers)
        guard onFinish != nil else { return }
        eventLoop.assumeIsolated().execute { [self] in
            onFinish?()
            onFinish = nil
        }
    }

    /// Rejects a request that is not gRPC.
    func refuse(httpStatus: Int) {
        isOver = true
        end([":status": String(httpStatus)])
    }

    private func end(_ headers: HPACKHeaders) {
        // The write may end the stream and clear `connection`.
        guard let connection else { return }
        connection.end(headers, on: id)
        connection.answered(id)
    }

    /// Called when the stream is over.
    func lost() {
        isOver = true
        connection = nil
        progress.ended()
    }

    private static func cut(_ message: String) -> String {
        message.utf8.count <= messageBytesMax
            ? message : String(decoding: message.utf8.prefix(messageBytesMax), as: UTF8.self)
    }

    /// Encodes a status message: printable ASCII except `%` stays. Source: gRPC over HTTP/2, "Percent-Encoded".
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
