/// The receive window of one stream. Source: RFC 9113 section 5.2.
///
/// NIO counts what arrives and closes connections that exceed the window; this type decides when to reopen it.
struct InboundWindow {
    /// The window of a new stream or connection (RFC 9113 section 6.9.2).
    static let bytes = 65_535

    /// Bytes handled but not yet returned to the peer: less than half of the window.
    private var owedBytes = 0

    /// Records that bytes, padding included, have been handled.
    /// - Returns: the increment to send; nil while it is not worth a frame.
    mutating func released(_ bytes: Int) -> Int? {
        owedBytes += bytes
        guard owedBytes > Self.bytes / 2 else { return nil }
        defer { owedBytes = 0 }
        return owedBytes
    }
}
