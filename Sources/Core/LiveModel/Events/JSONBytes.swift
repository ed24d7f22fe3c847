package import JSON

extension JSONValue {
    /// Strict RFC 8259, with the default limits.
    package init(parsing bytes: [UInt8]) throws(JSONError) {
        self = try JSONParser.parse(bytes)
    }

    /// The canonical text: the same value always gives the same bytes.
    package var canonicalBytes: [UInt8] { JSONWriter.canonical(self) }

    /// Without white space, members in their order.
    package var compactBytes: [UInt8] { JSONWriter.compact(self) }

    /// Compact text.
    package var text: String { String(decoding: compactBytes, as: UTF8.self) }
}
