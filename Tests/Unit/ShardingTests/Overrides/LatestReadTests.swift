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
                #expect(latest.isOf(generation: generation) == (held.generation == generation))
            }
        }
    }

    @Test func aValueThatWasNotReadIsOfNoGenerationUnlessOneIsGiven() {
        #expect(!LatestRead("").isOf(generation: 0))
        #expect(LatestRead("", generation: 0).isOf(generation: 0))
        #expect(!LatestRead("", generation: 0).isOf(generation: 1))
    }
}
