/// Pauses between attempts: doubling from `minMs` to `maxMs`, each shortened at random by up to half, so that many
/// clients of one server do not return at the same instant.
package struct JitteredBackoff: Sendable {
    package let minMs: Int
    package let maxMs: Int
    private var ceilingMs: Int

    package init(minMs: Int, maxMs: Int) {
        self.minMs = max(1, minMs)
        self.maxMs = max(self.minMs, maxMs)
        ceilingMs = self.minMs
    }

    package mutating func reset() { ceilingMs = minMs }

    package mutating func nextMs(_ random: (ClosedRange<Int>) -> Int) -> Int {
        defer { ceilingMs = min(maxMs, ceilingMs * 2) }
        return random((ceilingMs + 1) / 2...ceilingMs)
    }
}
