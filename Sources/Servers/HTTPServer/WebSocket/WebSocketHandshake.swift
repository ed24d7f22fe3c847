import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The server's half of the opening handshake (RFC 6455 section 4.2).
struct WebSocketHandshake {
    private let head: HTTPRequestHead

    /// Checks the client's handshake: version 13 and a key of 16 bytes.
    init(_ head: HTTPRequestHead) throws(HTTPFailure) {
        guard head.headers["sec-websocket-version"] == ["13"] else { throw .upgradeRequired }
        let keys = head.headers["sec-websocket-key"]
        guard keys.count == 1, Self.isKey(keys[0]) else {
            throw .badRequest("Sec-WebSocket-Key is missing or not valid")
        }
        self.head = head
    }

    var offeredSubprotocols: [String] {
        head.headers[canonicalForm: "sec-websocket-protocol"].map(String.init)
    }

    /// `Sec-WebSocket-Extensions`, several joined by commas.
    var offeredExtensions: String {
        head.headers["sec-websocket-extensions"].joined(separator: ",")
    }

    /// Returns `Sec-WebSocket-Accept` and the chosen subprotocol.
    func responseHeaders(subprotocol: String?, on channel: any Channel) -> HTTPHeaders {
        var headers = HTTPHeaders()
        // NIO's upgrader computes the SHA-1 of section 4.2.2; its future is complete when it returns.
        Self.upgrader.buildUpgradeResponse(channel: channel, upgradeRequest: head, initialResponseHeaders: [:])
            .assumeIsolated().whenSuccess { headers = $0 }
        if let subprotocol {
            if offeredSubprotocols.contains(subprotocol) {
                headers.add(name: "sec-websocket-protocol", value: subprotocol)
            } else {
                assertionFailure("the subprotocol '\(subprotocol)' was not offered")
            }
        }
        return headers
    }

    private static let upgrader = NIOWebSocketServerUpgrader(
        shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
        upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() })

    /// Base64 of 16 bytes: 22 digits and `==`.
    private static func isKey(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        return bytes.count == 24 && bytes.suffix(2).elementsEqual("==".utf8)
            && bytes.dropLast(2).allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }
}
