import LiveModel
import Testing

@testable import Execution

/// The order in which the live queries of a batch ask custom resolvers, and what a late one does to the rest.
@Suite struct RemoteRoundTests {
    private static let late = RequestError(.timeout, "late", path: [.key("greeting")])

    private static func result(_ text: String) -> QueryExecutor.Outcome {
        .result(QueryExecutor.Result(body: Array(text.utf8), digest: Digest(of: text.utf8)))
    }

    private static func results(_ count: Int) -> [QueryExecutor.Outcome] { (0..<count).map { result("\($0)") } }

    private static func text(_ outcome: QueryExecutor.Outcome) -> String {
        switch outcome {
        case .unchanged: "unchanged"
        case .result(let result): String(decoding: result.answer.body, as: UTF8.self)
        case .cutShort: "cut short"
        case .failed(let error): "!" + error.code.rawValue
        }
    }

    /// All that may ask now, in order.
    private static func started(_ round: inout RemoteRound) -> [Int] {
        var indices: [Int] = []
        while let call = round.next() { indices.append(call.index) }
        return indices
    }

    @Test("Calls in flight stay within the bound; each answer lets the next one begin")
    func bound() {
        var round = RemoteRound(Self.results(20), first: 0)
        #expect(Self.started(&round) == Array(0..<RemoteRound.inFlightMax))
        round.ended(7, Self.result("seven"))
        #expect(Self.started(&round) == [RemoteRound.inFlightMax])
        #expect(Self.text(round.outcomes[7]) == "seven")
    }

    @Test("A round begins at the given place and wraps around", arguments: [0, 3, 4, 5, 11, Int.max])
    func order(first: Int) {
        var round = RemoteRound(Self.results(4), first: first)
        let start = first % 4
        #expect(Self.started(&round) == (0..<4).map { ($0 + start) % 4 })
    }

    @Test("Only results ask; other outcomes stay as they are")
    func onlyResults() {
        let refused = RequestError(.invalidVariable, "no")
        var round = RemoteRound([.unchanged, Self.result("b"), .failed(refused), Self.result("d")], first: 2)
        #expect(Self.started(&round) == [3, 1])
        round.ended(3, .unchanged)
        round.ended(1, Self.result("B"))
        #expect(round.outcomes.map(Self.text) == ["unchanged", "B", "!INVALID_VARIABLE", "unchanged"])
        #expect(round.next() == nil)
    }

    @Test("A late response ends the round: calls that have not begun fail like it")
    func lateness() {
        var round = RemoteRound(Self.results(20), first: 18)
        #expect(Self.started(&round) == [18, 19] + Array(0..<14))
        round.ended(18, .failed(Self.late))
        #expect(Self.started(&round) == [])
        for index in [19] + Array(0..<14) { round.ended(index, Self.result("done")) }
        let late = round.outcomes.indices.filter { Self.text(round.outcomes[$0]) == "!TIMEOUT" }
        #expect(late == [14, 15, 16, 17, 18])
        for index in late {
            guard case .failed(let error) = round.outcomes[index] else { continue }
            #expect(error == Self.late)
        }
        #expect(round.outcomes[..<14].allSatisfy { Self.text($0) == "done" })
    }

    @Test("Another failure concerns the one that failed alone")
    func otherFailures() {
        var round = RemoteRound(Self.results(17), first: 0)
        #expect(Self.started(&round).count == 16)
        round.ended(0, .failed(RequestError(.resolverFailed, "no")))
        #expect(Self.started(&round) == [16])
        #expect(Self.text(round.outcomes[16]) == "16")
    }

    @Test("An empty batch asks nothing")
    func empty() {
        var round = RemoteRound([], first: 5)
        #expect(round.next() == nil)
        #expect(round.outcomes.isEmpty)
    }
}
