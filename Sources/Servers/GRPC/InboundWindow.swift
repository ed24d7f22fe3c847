/// The window of one stream for what a peer sends. Source: RFC 9113 section 5.2.
///
/// The library counts what comes and ends who sends too much; this decides when the window is opened again.
struct InboundWindow {
    /// Of a new stream and of a new connection (RFC 9113 section 6.9.2).
    static let bytes = 65_535

    /// Handled, and not yet given back: less than half of the window.
    private var owedBytes = 0

    /// So many bytes, padding included, are held no longer.
    /// - Returns: the increment to tell the peer; nil while it is not worth a frame.
    mutating func released(_ bytes: Int) -> Int? {
        owedBytes += bytes
        guard owedBytes > Self.bytes / 2 else { return nil }
        defer { owedBytes = 0 }
        return owedBytes
    }
}
