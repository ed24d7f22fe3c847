import CEL
import Testing

/// Damaged sources: nothing may trap, whatever the outcome.
@Suite struct HostileInputTests {
    private static let corpus = [
        "request.variables.genre == mutation.variables.genre && mutation.auth.uid != ''",
        "[1, 2, 3].map(e, e > 1, e * 2).exists_one(e, e == 4) ? {'a': b'\\xff'} : {1u: r'''x'''}",
        "timestamp('2009-02-13T23:31:30Z').getHours('Australia/Sydney') in [1.5e3, -9223372036854775808]",
        "'aaaa'.matches('^(a|b)*[^x-z]{2,3}\\\\d?$') || duration('1h1.5s') > duration('-3ns')",
        "has(request.auth.token) && x.`content-type`.size() == string(12.5).size() % 3",
        #""\u00e9\U0001F62C\101\x41" + 'é' == type(dyn(null))"#,
    ]

    /// A small generator, so that every run sees the same inputs.
    private struct Random {
        var state: UInt64

        mutating func next(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
    }

    private static func attempt(_ source: String) {
        let activation = SlotActivation([
            object(["auth": .null, "variables": object(["genre": .string("a")])]), .null, .int(1),
        ])
        if let program = try? conditions.compileUnchecked(source) { _ = try? program.evaluate(activation) }
        if let program = try? conditions.compile(source) { _ = try? program.evaluate(activation) }
    }

    @Test func truncatedSourcesNeverTrap() {
        for source in Self.corpus {
            let scalars = Array(source.unicodeScalars)
            for length in scalars.indices {
                var text = String.UnicodeScalarView()
                text.append(contentsOf: scalars.prefix(length))
                Self.attempt(String(text))
            }
        }
    }

    @Test func mutatedSourcesNeverTrap() {
        var random = Random(state: 1)
        let spice = Array("()[]{}.,:?'\"\\`|&!=<>+-*/% \nabrxuU09eé\u{0}#$".unicodeScalars)
        for _ in 0..<4_000 {
            var scalars = Array(Self.corpus[random.next(below: Self.corpus.count)].unicodeScalars)
            for _ in 0...random.next(below: 4) {
                let position = random.next(below: scalars.count)
                switch random.next(below: 3) {
                case 0: scalars[position] = spice[random.next(below: spice.count)]
                case 1: scalars.insert(spice[random.next(below: spice.count)], at: position)
                default: scalars.remove(at: position)
                }
            }
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            Self.attempt(String(text))
        }
    }
}
