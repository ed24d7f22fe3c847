/// A client by its own words: SDK and version by the headers that SDKs send, else its user agent. For operators only.
package struct ClientDescription: Sendable, Hashable {
    /// The bytes that are kept of it.
    static let bytesMax = 128

    /// Empty if it says nothing.
    package let text: String

    package init() { text = "" }

    /// - Parameter header: returns a header field of the request, by its name in lower case.
    package init(header: (String) -> String?) {
        let parts = [header("x-client-name"), header("x-client-version")].compactMap(\.self)
        let named = header("x-goog-api-client") ?? (parts.isEmpty ? nil : parts.joined(separator: "/"))
        let sent = named ?? header("user-agent") ?? ""
        var kept = sent.utf8.prefix(Self.bytesMax)
        // A character that the limit divides is left out.
        while String(kept) == nil, !kept.isEmpty { kept = kept.dropLast() }
        text = String(kept) ?? ""
    }
}
