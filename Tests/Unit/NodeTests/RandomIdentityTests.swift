import Testing

@testable import Node

@Suite struct RandomIdentityTests {
    private func isUUID(_ text: String, version: Character) -> Bool {
        let characters = Array(text)
        guard characters.count == 36 else { return false }
        return characters.enumerated().allSatisfy { index, character in
            switch index {
            case 8, 13, 18, 23: character == "-"
            case 14: character == version
            case 19: "89ab".contains(character)
            default: "0123456789abcdef".contains(character)
            }
        }
    }

    @Test func randomOnesHaveTheirFormAndDiffer() {
        let texts = (0..<200).map { _ in RandomIdentity.uuid() }
        #expect(texts.allSatisfy { isUUID($0, version: "4") })
        #expect(Set(texts).count == texts.count)
        // Every digit that is free varies.
        #expect((0..<36).filter { index in Set(texts.map { Array($0)[index] }).count == 1 } == [8, 13, 14, 18, 23])
    }

    @Test func orderedOnesBeginWithTheTime() {
        let text = RandomIdentity.orderedUUID(nowMs: 0x0123_4567_89ab)
        #expect(text.hasPrefix("01234567-89ab-7") && isUUID(text, version: "7"))
        let rising = [0, 1, 1_700_000_000_000, 1_700_000_000_001].map { RandomIdentity.orderedUUID(nowMs: $0) }
        #expect(rising == rising.sorted() && Set(rising).count == 4)
        #expect(Set((0..<200).map { _ in RandomIdentity.orderedUUID(nowMs: 7) }).count == 200)
        #expect(isUUID(RandomIdentity.orderedUUID(nowMs: -1), version: "7"))
    }
}
