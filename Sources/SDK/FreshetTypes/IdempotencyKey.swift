#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The text by which the server recognises a mutation that it is sent again: it applies a key once, and answers a retry
/// as it answered the first request, for a day. Source: docs/reference/idempotency.md.
///
/// Make a new key for each mutation that the user means, and use it again until there is an answer. Its description is
/// the text to store.
public struct IdempotencyKey: Sendable, Hashable, LosslessStringConvertible {
    public let description: String

    /// A new key: a random UUID.
    public init() { description = UUID().uuidString.lowercased() }

    /// A key that was stored.
    ///
    /// Nil unless it has 22 to 255 printable ASCII characters, without spaces, quotes and backslashes. Callers who are
    /// not signed in share their keys, so it must be random.
    public init?(_ description: String) {
        let quoting: [UInt8] = [UInt8(ascii: "\""), UInt8(ascii: "\\")]
        guard (22...255).contains(description.utf8.count),
            description.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !quoting.contains($0) })
        else { return nil }
        self.description = description
    }
}
