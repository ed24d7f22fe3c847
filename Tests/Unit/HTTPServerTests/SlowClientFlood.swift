import HTTPServer
import NIOCore

/// Far more than a small socket takes, through every way to send, each message numbered and of its own size.
enum SlowClientFlood {
    static let messages = 600

    static func prefix(_ number: Int) -> [UInt8] { Array("{\"n\":\(number),\"d\":\"".utf8) }
    static func payload(_ number: Int) -> ByteBuffer {
        ByteBuffer(
            repeating: UInt8(ascii: "a") + UInt8(number % 26),
            count: (number * 37) % 5000 + (number % 50 == 0 ? 90_000 : 1))
    }
    static let suffix = Array("\"}".utf8)

    static func expected(_ number: Int) -> RawFrame {
        RawFrame(first: 0x81, payload: prefix(number) + Array(payload(number).readableBytesView) + suffix)
    }

    static func send(on connection: WebSocketConnection, _ events: EventLog) {
        func one(_ number: Int) {
            switch number % 3 {
            case 0:
                connection.send(EncodedTextFrame(text: ByteBuffer(bytes: expected(number).payload)))
            case 1:
                connection.send(prefix: prefix(number), shared: payload(number), suffix: suffix)
            default:
                connection.send(text: ByteBuffer(bytes: expected(number).payload))
            }
        }
        for number in stride(from: 0, to: messages, by: 4) {
            if number % 8 == 0 {
                connection.gathered { for next in number..<number + 4 { one(next) } }
            } else {
                for next in number..<number + 4 { one(next) }
            }
        }
        events.add(connection.pendingBytes > 500_000 ? "held back" : "not held back: \(connection.pendingBytes)")
    }
}
