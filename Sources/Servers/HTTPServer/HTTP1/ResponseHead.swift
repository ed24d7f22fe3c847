import NIOCore
import NIOHTTP1

/// A response's status line and header (RFC 9112). The server owns the framing: a handler's `Content-Length`,
/// `Transfer-Encoding` and `Date` are dropped, and its `Connection` matters only if it says `close`.
///
/// Names are sent in their customary capitals (`FieldName`).
struct ResponseHead {
    enum Framing: Equatable {
        case length(Int)
        case chunked
        /// The body ends when the connection closes (HTTP/1.0 streams).
        case untilClose
        /// 1xx, 204, 304.
        case none
    }

    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var framing: Framing
    var keepAlive: Bool
    var isHTTP10: Bool

    func encode(into buffer: inout ByteBuffer, date: [UInt8]) {
        buffer.writeStaticString("HTTP/1.1 ")
        buffer.writeString(String(status.code))
        buffer.writeStaticString(" ")
        buffer.writeString(Self.isClean(status.reasonPhrase) ? status.reasonPhrase : "")
        buffer.writeStaticString("\r\n")
        for (name, value) in headers {
            guard Self.isToken(name), Self.isClean(value) else {
                assertionFailure("response field '\(name)' contains characters that would break the header")
                continue
            }
            if Self.isReserved(name) { continue }
            FieldName.write(name, into: &buffer)
            buffer.writeStaticString(": ")
            buffer.writeString(value)
            buffer.writeStaticString("\r\n")
        }
        switch framing {
        case .length(let length):
            buffer.writeStaticString("Content-Length: ")
            buffer.writeString(String(length))
            buffer.writeStaticString("\r\n")
        case .chunked:
            buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
        case .untilClose, .none:
            break
        }
        if status == .switchingProtocols {
            buffer.writeStaticString("Connection: upgrade\r\n")
        } else if !keepAlive {
            buffer.writeStaticString("Connection: close\r\n")
        } else if isHTTP10 {
            buffer.writeStaticString("Connection: keep-alive\r\n")
        }
        buffer.writeStaticString("Date: ")
        buffer.writeBytes(date)
        buffer.writeStaticString("\r\n\r\n")
    }

    private static func isReserved(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: name.isSameField(as: "date")
        case 10: name.isSameField(as: "connection") || name.isSameField(as: "keep-alive")
        case 14: name.isSameField(as: "content-length")
        case 17: name.isSameField(as: "transfer-encoding")
        default: false
        }
    }

    static func hasNoBody(_ status: HTTPResponseStatus) -> Bool {
        status.code < 200 || status.code == 204 || status.code == 304
    }

    private static func isClean(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
    }
}
