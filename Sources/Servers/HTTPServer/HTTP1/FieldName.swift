import NIOCore

/// Writes names of header fields in their customary capitals: `Sec-WebSocket-Protocol`, `Content-Type`.
///
/// Names are compared without regard to case (RFC 9110 section 5.1), but some clients look them up as they are usually
/// written: Python's gql reads the chosen subprotocol from `Sec-WebSocket-Protocol` alone.
enum FieldName {
    static func write(_ name: String, into buffer: inout ByteBuffer) {
        if let customary = irregular(name) {
            buffer.writeStaticString(customary)
            return
        }
        var index = buffer.writerIndex
        buffer.writeString(name)
        var isFirst = true
        for byte in name.utf8 {
            if isFirst, byte >= UInt8(ascii: "a"), byte <= UInt8(ascii: "z") {
                buffer.setInteger(byte & 0xDF, at: index)
            }
            isFirst = byte == UInt8(ascii: "-")
            index += 1
        }
    }

    /// Returns a name that has more capitals than the first of each word.
    private static func irregular(_ name: String) -> StaticString? {
        switch name.utf8.count {
        case 2 where name.isSameField(as: "im"): "IM"
        case 4 where name.isSameField(as: "etag"): "ETag"
        case 16 where name.isSameField(as: "www-authenticate"): "WWW-Authenticate"
        case 20 where name.isSameField(as: "sec-websocket-accept"): "Sec-WebSocket-Accept"
        case 21 where name.isSameField(as: "sec-websocket-version"): "Sec-WebSocket-Version"
        case 22 where name.isSameField(as: "sec-websocket-protocol"): "Sec-WebSocket-Protocol"
        case 24 where name.isSameField(as: "sec-websocket-extensions"): "Sec-WebSocket-Extensions"
        default: nil
        }
    }
}
