import JSON

/// The messages that each client of a group sends and the responses it waits for. `CBroadcaster.h` defines the format.
struct ClientScript: Sendable {
    /// Pairs of a message that each client sends and one that it waits for.
    private(set) var steps: [UInt8] = []
    private var nextRequest: [UInt8] = []

    var bytes: [UInt8] { nextRequest + steps }

    /// - Parameter nextRequest: for polling clients the next request, before and after the tag of the last result.
    init(nextRequest: (before: String, after: String) = ("", "")) {
        for text in [nextRequest.before, nextRequest.after] { Self.append(Array(text.utf8), to: &self.nextRequest) }
    }

    private static func append(_ text: [UInt8], to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(text.count)) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: text)
    }

    mutating func send(_ text: [UInt8], until: String = "") {
        Self.append(text, to: &steps)
        Self.append(Array(until.utf8), to: &steps)
    }

    mutating func send(_ text: String, until: String = "") { send(Array(text.utf8), until: until) }

    mutating func upgrade(_ path: String, subprotocol: String?) {
        let offer = subprotocol.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
        send(
            "GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(offer)\r\n",
            until: "\r\n\r\n")
    }

    mutating func message(_ json: JSONValue, until: String = "") {
        let text = JSONWriter.compact(json)
        var frame: [UInt8] = [0x81]
        if text.count < 126 {
            frame.append(0x80 | UInt8(text.count))
        } else {
            frame += [0x80 | 126, UInt8(text.count >> 8), UInt8(text.count & 0xFF)]
        }
        // A mask of zeros is valid.
        send(frame + [0, 0, 0, 0] + text, until: until)
    }

    mutating func post(_ path: String, accept: String, _ body: JSONValue) {
        let text = JSONWriter.compact(body)
        send(
            Array(
                ("POST \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: \(accept)\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(text.count)\r\n\r\n").utf8) + text)
    }
}

/// A minimal encoder of HTTP/2 and Protocol Buffers for one gRPC call.
enum GRPCBytes {
    /// Encodes the preface, settings with windows that never fill, and one call with one message.
    static func call(path: String, message: [UInt8]) -> [UInt8] {
        let window: [UInt8] = [0x7F, 0xFF, 0xFF, 0xFF]
        var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        bytes += frame(4, flags: 0, stream: 0, [0, 4] + window)
        bytes += frame(4, flags: 1, stream: 0, [])
        bytes += frame(8, flags: 0, stream: 0, [0x7F, 0xFF, 0, 0])
        // The static table has 3 for `:method: POST`, 6 for `:scheme: http`, 4 for the name `:path`, 1 for
        // `:authority`, 31 for `content-type`. As clients do, all enter the dynamic table (0x40), which costs memory.
        var headers: [UInt8] = [0x83, 0x86, 0x44] + text(path) + [0x41] + text("localhost")
        headers += [0x5F] + text("application/grpc") + [0x40] + text("te") + text("trailers")
        bytes += frame(1, flags: 4, stream: 1, headers)
        let length = message.count
        bytes += frame(0, flags: 0, stream: 1, [0, 0, 0, UInt8(length >> 8), UInt8(length & 0xFF)] + message)
        return bytes
    }

    private static func frame(_ type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), type, flags, 0, 0, 0, stream] + payload
    }

    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    /// Encodes a length-delimited field; lengths must be below 16,384.
    static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length: [UInt8] =
            content.count < 128
            ? [UInt8(content.count)] : [UInt8(content.count & 0x7F) | 0x80, UInt8(content.count >> 7)]
        return [number << 3 | 2] + length + content
    }

    static func field(_ number: UInt8, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }
}
