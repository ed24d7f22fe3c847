import Testing

@testable internal import Observability

/// Counts up, so that the same numbers come every time.
struct CountingGenerator: RandomNumberGenerator {
    var count: UInt64 = 0

    mutating func next() -> UInt64 {
        count += 1
        return count
    }
}

@Suite("Trace ids")
struct TraceIDTests {
    private let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test("a valid traceparent gives its trace id")
    func valid() {
        #expect(TraceID(traceparent: header)?.hex == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(TraceID(continuing: header).hex == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(TraceID(traceparent: "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes") != nil)
        #expect(
            TraceID(traceparent: "00-00000000000000000000000000000001-0000000000000001-ff")?.hex.hasSuffix("01") == true
        )
    }

    @Test(
        "an invalid one is refused",
        arguments: [
            "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-" + String(repeating: "x", count: 600),
        ])
    func invalid(header: String) {
        #expect(TraceID(traceparent: header) == nil)
    }

    @Test("a new one has 32 digits, is not zero and reads back")
    func made() {
        var generator = CountingGenerator()
        let first = TraceID(using: &generator)
        #expect(first.hex.utf8.count == 32)
        #expect(TraceID(hex: first.hex) == first)
        #expect(TraceID(hex: String(repeating: "0", count: 32)) == nil)
        #expect(TraceID() != TraceID())
        #expect(TraceID(continuing: nil) != TraceID(continuing: "nonsense"))
    }
}

@Suite struct PooledRandomTests {
    /// Each number of the pool is given out once over all threads.
    @Test func pooledNumbersAreHandedOutOnce() async {
        let drawn = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var random = PooledRandom()
                    return (0..<1_000).map { _ in random.next() }
                }
            }
            return await group.reduce(into: [UInt64]()) { $0 += $1 }
        }
        #expect(Set(drawn).count == 8_000)
        // All bits of all bytes occur: the whole pool is filled.
        #expect(drawn.reduce(0, |) == .max && drawn.reduce(.max, &) == 0)
    }
}
