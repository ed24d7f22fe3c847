import Glibc

/// A blocking TCP client that sends exactly the bytes that it is given. Reads give up after `timeoutMs`, so that a
/// server that does not answer fails a test and does not hang it.
final class RawClient {
    private let descriptor: CInt
    private var received: [UInt8] = []
    private var isClosed = false

    struct Failure: Error { var what: String }

    /// - Parameter source: the own address, of the loopback network.
    init(
        port: Int, from source: String? = nil, receiveBufferBytes: CInt? = nil, sendBufferBytes: CInt? = nil,
        timeoutMs: Int = 5_000
    ) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: timeoutMs / 1000, tv_usec: timeoutMs % 1000 * 1000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        if var size = receiveBufferBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        if var size = sendBufferBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        if let source { try bind(to: source) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0 { throw Failure(what: "connect: \(errno)") }
    }

    private func bind(to source: String) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(source)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0 { throw Failure(what: "bind: \(errno)") }
    }

    deinit { if !isClosed { close(descriptor) } }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Makes `send` give up when the peer takes nothing for this long.
    func giveUpSending(afterMs: Int) {
        var timeout = timeval(tv_sec: afterMs / 1000, tv_usec: afterMs % 1000 * 1000)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Returns how many bytes were taken. Those that the server does not want any more are lost silently.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        var at = 0
        while at < bytes.count {
            let n = bytes[at...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if n <= 0 { break }
            at += n
        }
        return at
    }

    /// Closes with a reset.
    func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
        isClosed = true
    }

    func shutdownWrite() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// false at the end of the stream.
    private func fill() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let n = recv(descriptor, &buffer, buffer.count, 0)
        if n < 0 {
            if errno == ECONNRESET { return false }
            throw Failure(what: "recv: \(errno), so far: \(String(decoding: received.prefix(400), as: UTF8.self))")
        }
        received += buffer.prefix(n)
        return n > 0
    }

    func bytes(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            if try !fill() { throw Failure(what: "end of stream after \(received.count) of \(count) bytes") }
        }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    /// Everything up to and including `mark`.
    func text(through mark: String) throws -> String {
        let mark = Array(mark.utf8)
        var from = 0
        while true {
            if received.count >= mark.count {
                for start in from...(received.count - mark.count) where received[start...].starts(with: mark) {
                    return String(decoding: try bytes(start + mark.count), as: UTF8.self)
                }
                from = received.count - mark.count + 1
            }
            if try !fill() { throw Failure(what: "end of stream: \(String(decoding: received, as: UTF8.self))") }
        }
    }

    /// Everything up to the end of the stream.
    func rest() throws -> [UInt8] {
        while try fill() {}
        defer { received = [] }
        return received
    }

    func restText() throws -> String { String(decoding: try rest(), as: UTF8.self) }
}

/// One parsed answer.
struct RawResponse {
    var status: Int
    var head: String
    var body: String

    func has(_ line: String) -> Bool { head.lowercased().contains(line.lowercased() + "\r\n") }
}

extension RawClient {
    /// Reads one answer with `content-length` or chunks, or without a body.
    func response(toHead: Bool = false) throws -> RawResponse {
        let head = try text(through: "\r\n\r\n")
        let status = Int(head.dropFirst(9).prefix(3)) ?? 0
        var body = ""
        let lower = head.lowercased()
        if toHead {
            return RawResponse(status: status, head: head, body: "")
        } else if lower.contains("transfer-encoding: chunked") {
            while true {
                let line = try text(through: "\r\n").dropLast(1)
                let size = Int(line, radix: 16) ?? 0
                body += String(decoding: try bytes(size + 2).dropLast(2), as: UTF8.self)
                if size == 0 { break }
            }
        } else if let field = lower.split(separator: "\r\n").first(where: { $0.hasPrefix("content-length: ") }) {
            body = String(decoding: try bytes(Int(field.dropFirst(16)) ?? 0), as: UTF8.self)
        }
        return RawResponse(status: status, head: head, body: body)
    }

    func get(_ target: String, headers: String = "") {
        send("GET \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n")
    }
}

// MARK: WebSocket frames by hand

struct RawFrame: Equatable {
    var first: UInt8
    var payload: [UInt8]

    var text: String { String(decoding: payload, as: UTF8.self) }
    var closeCode: Int? { first == 0x88 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }
}

extension RawClient {
    static let webSocketHeaders =
        "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

    /// Opens a WebSocket; returns the header of the 101.
    @discardableResult
    func openWebSocket(_ path: String = "/ws", headers: String = "") throws -> String {
        get(path, headers: Self.webSocketHeaders + headers)
        let head = try text(through: "\r\n\r\n")
        if !head.hasPrefix("HTTP/1.1 101 ") { throw Failure(what: head) }
        return head
    }

    static func frame(_ first: UInt8, _ payload: [UInt8], masked: Bool = true, declaredLength: UInt64? = nil) -> [UInt8]
    {
        let length = declaredLength ?? UInt64(payload.count)
        let bit: UInt8 = masked ? 0x80 : 0
        var frame = [first]
        if length < 126 {
            frame.append(bit | UInt8(length))
        } else if length <= 0xFFFF {
            frame += [bit | 126, UInt8(length >> 8), UInt8(length & 0xFF)]
        } else {
            frame.append(bit | 127)
            frame += (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * UInt64($0))) }
        }
        let mask: [UInt8] = masked ? [0x37, 0xFA, 0x21, 0x3D] : []
        frame += mask
        frame += masked ? payload.enumerated().map { $1 ^ mask[$0 % 4] } : payload
        return frame
    }

    func sendFrame(_ first: UInt8, _ payload: [UInt8] = [], masked: Bool = true) {
        send(Self.frame(first, payload, masked: masked))
    }

    func sendText(_ text: String) { sendFrame(0x81, Array(text.utf8)) }

    func frame() throws -> RawFrame {
        let head = try bytes(2)
        var length = Int(head[1] & 0x7F)
        if length == 126 {
            length = try bytes(2).reduce(0) { $0 << 8 | Int($1) }
        } else if length == 127 {
            length = try bytes(8).reduce(0) { $0 << 8 | Int($1) }
        }
        return RawFrame(first: head[0], payload: try bytes(length))
    }
}
