/// Decides when a worker asks for its next read of the streams. Pure.
///
/// On a quiet system it does so at once, so that the next event finds the read waiting. While reads follow each other
/// closely, one that begins a little later brings more events, whose live queries share statements.
package struct ReadPace: Sendable {
    /// Reads that bring entries within this time of each other are close.
    static let closeMs: Int64 = 5

    private var lastMs = Int64.min / 2

    package init() {}

    /// Reports that a read has brought entries.
    /// - Returns: whether the next read is to begin at once.
    package mutating func read(nowMs: Int64) -> Bool {
        defer { lastMs = nowMs }
        return nowMs >= lastMs + Self.closeMs
    }
}
