/// One event of a `text/event-stream`. Source: WHATWG HTML §9.2.
package enum ServerSentEvent {
    /// `data` has no line breaks: it is the JSON text of a result, in which they are escaped.
    package static func event(_ name: String, id: String?, data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 160)
        if let id { bytes.append(contentsOf: "id: \(id)\n".utf8) }
        bytes.append(contentsOf: "event: \(name)\n".utf8)
        // jsonb keeps no raw line breaks, but the check costs one scan, and a broken frame would break the client.
        for line in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            bytes.append(contentsOf: "data: ".utf8)
            bytes.append(contentsOf: line)
            bytes.append(UInt8(ascii: "\n"))
        }
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// A comment, which keeps intermediaries from closing an idle stream.
    package static let keepAlive = Array(":\n\n".utf8)
}
