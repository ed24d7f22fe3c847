import NIOCore
import NIOWebSocket

/// Validates a client's frames and assembles fragments (RFC 6455 sections 5.4 to 5.5 and 8.1). Pure.
struct WebSocketAssembler {
    enum Outcome: Equatable {
        case none
        case text(ByteBuffer)
        case binary(ByteBuffer)
        /// A message to be decompressed, and then passed to `whole`.
        case compressed(isText: Bool, ByteBuffer)
        /// Requires a pong with the same payload.
        case ping(ByteBuffer)
        /// The peer's code, 1005 when it gave none.
        case close(UInt16)
        /// The peer violated the protocol; the connection must be closed with this code.
        case fail(UInt16)
    }

    /// The message whose last fragment is missing; at most `bytesMax`. Boxed: most connections never have one.
    private var partial: Partial?

    /// The most fragments of one message. Senders of large messages use large fragments; many empty ones are an attack.
    static let fragmentsMax = 4_096

    private final class Partial {
        let isText: Bool
        let isCompressed: Bool
        var bytes: ByteBuffer
        var fragments = 1
        init(isText: Bool, isCompressed: Bool, bytes: ByteBuffer) {
            self.isText = isText
            self.isCompressed = isCompressed
            self.bytes = bytes
        }
    }

    /// The bytes of the incomplete message.
    var heldBytes: Int { partial?.bytes.readableBytes ?? 0 }

    /// - Parameter allowsCompressed: whether RSV1 may mark a compressed message (RFC 7692 section 6).
    mutating func add(_ frame: WebSocketFrame, bytesMax: Int, allowsCompressed: Bool = false) -> Outcome {
        guard let key = frame.maskKey, !frame.rsv2, !frame.rsv3 else { return .fail(1002) }
        if frame.rsv1 {
            guard allowsCompressed, frame.opcode == .text || frame.opcode == .binary else { return .fail(1002) }
        }
        var payload = frame.data
        if payload.readableBytes > 0 { payload.webSocketUnmask(key) }
        switch frame.opcode {
        case .ping: return .ping(payload)
        case .pong: return .none
        case .connectionClose: return Self.close(payload)
        case .text, .binary:
            guard partial == nil else { return .fail(1002) }
            let isText = frame.opcode == .text
            guard payload.readableBytes <= bytesMax else { return .fail(1009) }
            if frame.fin { return Self.whole(isText: isText, isCompressed: frame.rsv1, payload) }
            partial = Partial(isText: isText, isCompressed: frame.rsv1, bytes: payload)
            return .none
        case .continuation:
            guard let partial else { return .fail(1002) }
            partial.fragments += 1
            guard partial.bytes.readableBytes + payload.readableBytes <= bytesMax,
                partial.fragments <= Self.fragmentsMax
            else { return .fail(1009) }
            partial.bytes.writeBuffer(&payload)
            guard frame.fin else { return .none }
            self.partial = nil
            return Self.whole(isText: partial.isText, isCompressed: partial.isCompressed, partial.bytes)
        default: return .fail(1002)
        }
    }

    /// Checks a complete message.
    static func whole(isText: Bool, isCompressed: Bool, _ bytes: ByteBuffer) -> Outcome {
        if isCompressed { return .compressed(isText: isText, bytes) }
        if !isText { return .binary(bytes) }
        return isUTF8(bytes) ? .text(bytes) : .fail(1007)
    }

    private static func close(_ payload: ByteBuffer) -> Outcome {
        if payload.readableBytes == 0 { return .close(1005) }
        var payload = payload
        guard let code = payload.readInteger(as: UInt16.self) else { return .fail(1002) }
        switch code {
        // Section 7.4: assigned for use in a frame, or free for libraries and applications.
        case 1000...1003, 1007...1014, 3000...4999: return isUTF8(payload) ? .close(code) : .fail(1007)
        default: return .fail(1002)
        }
    }

    private static func isUTF8(_ bytes: ByteBuffer) -> Bool {
        bytes.withUnsafeReadableBytes { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { (try? UTF8Span(validating: $0.span)) != nil }
        }
    }
}
