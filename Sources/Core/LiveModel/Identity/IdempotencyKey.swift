/// The text by which a client says that a mutation is the same as one that it sent before. Source: the IETF draft "The
/// Idempotency-Key HTTP Header Field" (draft-ietf-httpapi-idempotency-key-header).
package struct IdempotencyKey: Hashable, Sendable {
    package let text: String

    /// The name of the header over HTTP, and of the metadata over gRPC.
    package static let headerName = "idempotency-key"
    /// The name in `extensions` of GraphQL requests.
    package static let extensionName = "idempotencyKey"
    package static let bytesMax = 255
    /// The shortest key of a caller who is not signed in. Such callers share one space of keys, so a key must not be
    /// guessed; 22 characters hold 128 random bits in base64.
    package static let signedOutBytesMin = 22

    /// - Throws: `.badRequest` unless the text has 1 to 255 printable ASCII characters.
    package init(_ text: String) throws(RequestError) {
        guard !text.isEmpty, text.utf8.count <= Self.bytesMax, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw RequestError(
                .badRequest, "an idempotency key must have 1 to \(Self.bytesMax) printable ASCII characters")
        }
        self.text = text
    }

    /// Reads the header `Idempotency-Key`: a string in quotes, with parameters ignored (RFC 8941 section 3.3.3), or the
    /// bare key, as most clients send it.
    /// - Throws: `.badRequest` for a string that is not closed, and as `init(_:)`.
    package init(header: String) throws(RequestError) {
        guard header.utf8.first == UInt8(ascii: "\"") else {
            try self.init(header)
            return
        }
        var text: [UInt8] = []
        var rest = header.utf8.dropFirst()
        var isClosed = false
        while !isClosed, let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): isClosed = true
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
                else { throw Self.malformed }
                text.append(escaped)
            default: text.append(byte)
            }
        }
        rest = rest.drop { $0 == UInt8(ascii: " ") }
        guard isClosed, rest.isEmpty || rest.first == UInt8(ascii: ";") else { throw Self.malformed }
        try self.init(String(decoding: text, as: UTF8.self))
    }

    /// Chooses the key of a request that has a place for it in a header and one in its body.
    /// - Parameter header: nil if there is none.
    /// - Throws: `.badRequest`, also if the two differ.
    package static func chosen(header: String?, body: IdempotencyKey?) throws(RequestError) -> IdempotencyKey? {
        guard let header else { return body }
        let key = try IdempotencyKey(header: header)
        guard body == nil || body == key else {
            throw RequestError(.badRequest, "the header Idempotency-Key differs from \"extensions.idempotencyKey\"")
        }
        return key
    }

    private static let malformed = RequestError(
        .badRequest, "the header Idempotency-Key must be a key, or a string in quotes (RFC 8941)")
}
