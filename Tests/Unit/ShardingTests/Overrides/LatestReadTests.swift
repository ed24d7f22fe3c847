import Sharding
import Testing

@Suite struct LatestReadTests {
    struct Answer: Sendable, CustomTestStringConvertible {
        /// The number of the read, in the order in which they began.
        let read: Int
        let generation: UInt64
        let counts: Bool

        init(_ read: Int, _ generation: UInt64, counts: Bool) {
            (self.read, self.generation, self.counts) = (read, generation, counts)
        }

        var testDescription: String { "\(read): generation \(generation), \(counts ? "counts" : "is dropped")" }
    }

    /// The answers to three reads begun one after the other, in the order in which they arrive.
    @Test(arguments: [
        [Answer(0, 5, counts: true), Answer(1, 6, counts: true), Answer(2, 7, counts: true)],
        // The later read counts, whichever ends first.
        [Answer(1, 6, counts: true), Answer(0, 5, counts: false), Answer(2, 7, counts: true)],
        [Answer(2, 7, counts: true), Answer(1, 6, counts: false), Answer(0, 5, counts: false)],
        // So it does when the broker lost its latest data.
        [Answer(0, 7, counts: true), Answer(1, 5, counts: true), Answer(2, 5, counts: true)],
        [Answer(2, 5, counts: true), Answer(0, 7, counts: false), Answer(1, 6, counts: false)],
        // A read without an answer holds nothing up.
        [Answer(1, 6, counts: true), Answer(2, 6, counts: true)],
        [Answer(2, 6, counts: true)],
        // An answer counts once.
        [Answer(0, 5, counts: true), Answer(0, 5, counts: false), Answer(2, 7, counts: true)],
    ])
    func theReadBegunLastCounts(answers: [Answer]) {
        var latest = LatestRead("none")
        let tickets = (0..<3).map { _ in latest.begin() }
        var held = (value: "none", generation: UInt64?.none)
        for answer in answers {
            let value = "\(answer.read) of \(answer.generation)"
            let former = latest.end(tickets[answer.read], value, generation: answer.generation)
            #expect(former == (answer.counts ? held.value : nil))
            if answer.counts { held = (value, answer.generation) }
            #expect(latest.value == held.value)
            for generation in UInt64(4)...8 {
                #expect(copy(of: latest, generation) == (held.generation == generation ? held.value : nil))
            }
        }
    }

    /// The copy, if it is up to date when the server reports this generation.
    private func copy(of latest: LatestRead<String>, _ generation: UInt64) -> String? {
        var latest = latest
        guard case .useCopy(let value) = latest.generationRead(generation) else { return nil }
        return value
    }

    @Test func aValueThatWasNotReadIsOfNoGenerationUnlessOneIsGiven() {
        #expect(copy(of: LatestRead(""), 0) == nil)
        #expect(copy(of: LatestRead("", generation: 0), 0) == "")
        #expect(copy(of: LatestRead("", generation: 0), 1) == nil)
    }

    @Test func anotherGenerationBeginsARead() {
        var latest = LatestRead("none", generation: 0)
        let earlier = latest.begin()
        guard case .read(let ticket) = latest.generationRead(1) else {
            Issue.record("the copy is used")
            return
        }
        #expect(latest.end(ticket, "one", generation: 1) == "none")
        #expect(latest.end(earlier, "none", generation: 0) == nil, "begun earlier")
    }
}
