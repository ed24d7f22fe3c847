package import JSON

extension JSONValue {
    /// Parses strict RFC 8259 JSON with the default limits.
    package init(parsing bytes: [UInt8]) throws(JSONError) {
        self = try JSONParser.parse(bytes)
    }

    /// The canonical text: equal values have equal bytes.
    package var canonicalBytes: [UInt8] { JSONWriter.canonical(self) }

    /// The text without white space, with members in their order.
    package var compactBytes: [UInt8] { JSONWriter.compact(self) }

    /// The compact text.
    package var text: String { String(decoding: compactBytes, as: UTF8.self) }
}
