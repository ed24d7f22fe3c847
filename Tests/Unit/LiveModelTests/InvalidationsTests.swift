import LiveModel
import SeededRandom
import Testing

/// The history of invalidations, and what clients have to drop.
@Suite struct InvalidationsTests {
    /// The hash in Redis: each change sets fields under a new generation.
    private struct Table {
        var fields: [String: (version: UInt64, value: String)] = [:]
        var generation: UInt64 = 100

        mutating func change(_ changes: [(field: String, value: String?)]) {
            generation += 1
            for (field, value) in changes { fields[field] = value.map { (generation, $0) } }
        }

        var history: Invalidations { Invalidations(fields: fields, generation: generation) }
    }

    @Test func subjectsAndPositionsHaveTexts() {
        let subjects: [InvalidationSubject] = [
            .entity(id: "0a"), .operation(OperationReference(connector: "c", operation: "Q")), .connector("c d"),
        ]
        for subject in subjects { #expect(InvalidationSubject(subject.description) == subject) }
        for text in ["", "entity", "operation c", "region x"] { #expect(InvalidationSubject(text) == nil) }
        let position = InvalidationPosition(generation: 7, mark: "a-b")
        #expect(InvalidationPosition(position.description) == position)
        for text in ["", "7", "x-m", "-1-m"] { #expect(InvalidationPosition(text) == nil) }
    }

    @Test func aClientOfAnotherHistoryOrAnOlderTimeDropsEverything() throws {
        var table = Table()
        #expect(table.history.position == nil)
        table.change(Invalidations.beginning(mark: "m"))
        let start = try #require(table.history.position)
        #expect(table.history.since(start) == .drop([]) && table.history.since(nil) == .drop([]))
        for number in 0..<4 {
            table.change(table.history.adding(.entity(id: "\(number)"), countMax: 3, name: "\(number)"))
        }
        #expect(table.history.count == 3 && table.history.since(start) == .dropEverything)
        #expect(
            table.history.since(InvalidationPosition(generation: table.generation, mark: "x")) == .dropEverything)
        #expect(
            table.history.since(InvalidationPosition(generation: table.history.floor, mark: "m"))
                == .drop([.entity(id: "1"), .entity(id: "2"), .entity(id: "3")]))
    }

    /// Nodes invalidate at the same time: each computes its change from a history that may be older than the table.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func noClientMissesAnInvalidation(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var table = Table()
        table.change(Invalidations.beginning(mark: "m"))
        var nodes = (0..<2).map { _ in table.history }
        /// Clients with what they still have, and their positions.
        var clients = (0..<3).map { _ in (position: table.history.position, missed: Set<InvalidationSubject>()) }
        for step in 0..<60 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let subject = InvalidationSubject.entity(id: "\(Int.random(in: 0..<12, using: &random))")
                let node = Int.random(in: 0..<2, using: &random)
                table.change(nodes[node].adding(subject, countMax: 4, name: "\(step)"))
                for index in clients.indices { clients[index].missed.insert(subject) }
            case 2:
                for node in nodes.indices where Bool.random(using: &random) { nodes[node] = table.history }
            default:
                let index = Int.random(in: 0..<clients.count, using: &random)
                switch table.history.since(clients[index].position) {
                case .dropEverything: break
                case .drop(let subjects):
                    #expect(Set(subjects) == clients[index].missed, "seed \(seed), step \(step)")
                    #expect(Set(subjects).count == subjects.count)
                }
                clients[index] = (table.history.position, [])
            }
        }
        // One node alone brings it back to its bound.
        for step in 60..<62 {
            table.change(table.history.adding(.entity(id: "\(step)"), countMax: 4, name: "\(step)"))
        }
        #expect(table.history.count <= 4)
    }
}
