import LiveModel
import Sessions
import Testing

@Suite struct DeltaStateTests {
    private let first = Digest(of: "1".utf8)
    private let second = Digest(of: "2".utf8)

    @Test func aPatchStartsFromTheResultLastSent() {
        var state = DeltaState(true, held: nil)
        let bases = [first, second].map { state.advance(to: $0) }
        #expect(bases == [nil, first] && state == .on(held: second))
        var resumed = DeltaState(true, held: first)
        let base = resumed.advance(to: second)
        #expect(base == first)
    }

    @Test func afterAnErrorAResultIsSentWhole() {
        var state = DeltaState(true, held: first)
        state.failed()
        let bases = [second, first].map { state.advance(to: $0) }
        #expect(bases == [nil, second])
    }

    @Test func withoutDeltasNothingIsNoted() {
        var state = DeltaState(false, held: first)
        let base = state.advance(to: second)
        state.failed()
        #expect(base == nil && state == .off && !state.isOn)
    }
}
