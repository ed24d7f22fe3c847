import JSON

/// The message that is published and delivered: a result of 200 bytes with one stamp, which publishers overwrite and
/// subscribers read (`peers.h`).
enum PeerMessage {
    /// The size of a result without envelope.
    static let resultBytes = 200
    /// The text that a subscriber's key replaces; all keys are UUIDs.
    static let placeholder = "00000000-0000-0000-0000-000000000000"
    private static let mark = "§"
    private static let stamp = mark + "00000000:0000000000000000"

    /// The text of the row that a mutation changes.
    static let description: String = {
        let others = #"{"lot":{"id":"\#(placeholder)","description":"\#(stamp) "}}"#.utf8.count
        return stamp + " " + String(repeating: "7", count: resultBytes - others)
    }()

    /// Returns the result as responses have it.
    static func response(_ key: String) -> String {
        #"{"data":{"lot":{"id":"\#(key)","description":"\#(description)"}}}"#
    }

    /// Returns the result as a message of graphql-transport-ws.
    static func envelope(_ key: String) -> String {
        #"{"id":"1","type":"next","payload":\#(response(key))}"#
    }

    /// Returns the envelope as a WebSocket frame of a server.
    static func frame(_ key: String) -> [UInt8] {
        let text = Array(envelope(key).utf8)
        return [0x81, 126, UInt8(text.count >> 8), UInt8(text.count & 0xFF)] + text
    }

    /// Returns the sequence number in a row's text.
    static func sequence(in text: String) -> UInt32? {
        guard text.hasPrefix(mark) else { return nil }
        return UInt32(text.dropFirst().prefix { $0 != ":" })
    }
}
