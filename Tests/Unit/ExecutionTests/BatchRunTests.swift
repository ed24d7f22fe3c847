import LiveModel
import Testing

@testable import Execution

/// The statements that a batch becomes when one of its members breaks them.
@Suite struct BatchRunTests {
    private static let refusal = RequestError(.invalidVariable, "a value is out of range or malformed")

    private static func row(_ ordinal: Int, _ text: String?) -> BatchRun.Row {
        BatchRun.Row(ordinal: ordinal, digest: text.map { Digest(of: $0.utf8) }, body: text.map { Array($0.utf8) })
    }

    /// `unchanged`, the text of the result, or `!` and the code of the error.
    private static func texts(_ run: BatchRun) -> [String] {
        run.outcomes.map { outcome in
            switch outcome {
            case .unchanged: "unchanged"
            case .result(let result): String(decoding: result.answer.body, as: UTF8.self)
            case .cutShort: "cut short"
            case .failed(let error): "!" + error.code.rawValue
            }
        }
    }

    /// Runs a batch to its end against a database that refuses every statement with one of these members.
    /// - Returns: the members of each statement.
    private static func run(_ run: inout BatchRun, refused: Set<Int>) -> [Range<Int>] {
        var statements: [Range<Int>] = []
        while let members = run.next() {
            statements.append(members)
            if members.contains(where: refused.contains) {
                run.failed(members, refusal, isRefused: true)
            } else {
                run.answered(members, members.enumerated().map { row($0.offset + 1, "\($0.element)") })
            }
        }
        return statements
    }

    @Test("A batch that nothing breaks is one statement")
    func oneStatement() {
        var run = BatchRun(count: 3)
        #expect(run.next() == 0..<3)
        run.answered(0..<3, [Self.row(3, nil), Self.row(1, "a"), Self.row(2, "b")])
        #expect(run.next() == nil && run.isOver)
        #expect(Self.texts(run) == ["a", "b", "unchanged"])
    }

    @Test("Halving leaves the member that breaks the statement alone with its error")
    func oneBreaksIt() {
        var run = BatchRun(count: 8)
        let statements = Self.run(&run, refused: [5])
        #expect(statements == [0..<8, 0..<4, 4..<8, 4..<6, 4..<5, 5..<6, 6..<8])
        #expect(Self.texts(run) == ["0", "1", "2", "3", "4", "!INVALID_VARIABLE", "6", "7"])
    }

    @Test("Any members can break it: each fails alone, in at most twice as many statements", arguments: 1...9)
    func anyBreakIt(count: Int) {
        for bits in 0..<(1 << count) {
            let refused = Set((0..<count).filter { bits >> $0 & 1 == 1 })
            var run = BatchRun(count: count)
            let statements = Self.run(&run, refused: refused)
            #expect(statements.count < 2 * count)
            #expect(Self.texts(run) == (0..<count).map { refused.contains($0) ? "!INVALID_VARIABLE" : "\($0)" })
        }
    }

    @Test(
        "Errors that may pass, or are not the server's refusal, fail all members at once",
        arguments: [
            (RequestError(.unavailable, "the database cannot be reached"), true),
            (RequestError(.timeout, "the statement took longer than its timeout"), true),
            (RequestError(.internalError, "the statement is not supported"), false),
        ])
    func noHalving(error: RequestError, isRefused: Bool) {
        var run = BatchRun(count: 4)
        let members = run.next()
        #expect(members == 0..<4)
        run.failed(0..<4, error, isRefused: isRefused)
        #expect(run.isOver)
        #expect(Self.texts(run) == Array(repeating: "!" + error.code.rawValue, count: 4))
    }

    @Test("A member without a row fails; rows of no member are ignored")
    func missingRows() {
        var run = BatchRun(count: 2)
        _ = run.next()
        run.answered(
            0..<2,
            [
                Self.row(0, "x"), Self.row(3, "x"), BatchRun.Row(ordinal: 1, digest: nil, body: [1]),
                Self.row(2, "b"),
            ])
        #expect(Self.texts(run) == ["!INTERNAL", "b"])
    }

    @Test("Ordinals count the members of their statement")
    func ordinals() {
        var run = BatchRun(count: 3)
        _ = run.next()
        run.failed(0..<3, Self.refusal, isRefused: true)
        #expect(run.next() == 0..<1)
        run.answered(0..<1, [Self.row(1, "a")])
        #expect(run.next() == 1..<3)
        run.answered(1..<3, [Self.row(2, "c"), Self.row(1, "b")])
        #expect(Self.texts(run) == ["a", "b", "c"])
    }

    @Test("A statement that takes too long is not halved here: others get their turn first")
    func cutShort() {
        var run = BatchRun(count: 3)
        let members = run.next()
        run.cutShort(0..<3)
        #expect(members == 0..<3 && run.isOver)
        #expect(Self.texts(run) == ["cut short", "cut short", "cut short"])
    }
}
