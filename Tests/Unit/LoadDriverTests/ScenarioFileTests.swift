import Foundation
import JSON
import SeededRandom
import TestSupport
import Testing

@testable import LoadDriver

@Suite struct ScenarioFileTests {
    private func problems(_ text: String) -> [String] {
        do throws(ScenarioError) {
            _ = try ScenarioFile.parse(name: "s.yaml", text: text)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    private let small = """
        connector: auctions
        subscribers:
          - count: 3
            operation: Get
            variables: {id: "{{subscriber.index}}", n: 5, s: '5', deep: [1.5, true, null, x]}
        """

    @Test func scenariosHaveDefaultsAndTypedValues() throws {
        let scenario = try ScenarioFile.parse(name: "folder/hot.key.yaml", text: small)
        #expect(scenario.name == "hot")
        #expect(scenario.groups.count == 1 && scenario.groups[0].line == 3)
        #expect(scenario.groups[0].transport == .graphqlTransportWS && scenario.groups[0].connector == "auctions")
        #expect(scenario.latencyFrom == .commit && scenario.seed == nil)
        var random = SeededRandom(seed: 0)
        let variables = scenario.groups[0].variables.expand(TemplateContext(index: 2, nowMs: 0), &random)
        #expect(variables == ["id": 2, "n": 5, "s": "5", "deep": [1.5, true, nil, "x"]])
    }

    @Test func everySectionIsRead() throws {
        let scenario = try ScenarioFile.parse(
            name: "s.yaml",
            text: """
                name: all
                seed: 42
                transport: sse
                rows: {connector: m, operation: List, variables: [{a: 1}, {a: 2}], path: x.y, rowsMax: 9}
                subscribers:
                  - {count: 1, connector: m, operation: A, transport: longpoll, row: first, token: "t{{row.id}}"}
                mutations:
                  - {connector: m, operation: B, perSecond: 0.5, retryMs: 7, variables: {t: "{{marker}} {{row.id}}"}}
                connectPerSecond: 10
                connectTimeoutMs: 200
                warmUpMs: 0
                durationMs: 500
                settleMs: 0
                latencyFrom: send
                """)
        #expect(scenario.rows?.variables == [["a": 1], ["a": 2]] && scenario.rows?.path == ["x", "y"])
        #expect(scenario.groups[0].transport == .longpoll && scenario.groups[0].row == .first)
        #expect(scenario.mutations[0].perSecond == 0.5 && scenario.mutations[0].row == .random)
        #expect(scenario.mutations[0].retryMs == 7)
        #expect(scenario.mutations[0].variables.templates.contains { $0.parts.contains(.placeholder(.marker)) })
        #expect(scenario.seed == 42 && scenario.latencyFrom == .send && scenario.durationMs == 500)
    }

    @Test func problemsNameTheirLines() {
        let found = problems(
            """
            conector: auctions
            subscribers:
              - count: 0
                operation: Get
              - count: 1
                connector: m
                variables:
                  id: "{{row.id}}"
                  other: "{{nope}}"
            mutations:
              - operation: Set
                connector: m
                perSecond: fast
            durationMs: 1
            """)
        #expect(found.contains { $0.hasPrefix("s.yaml:1: unknown key \"conector\"") })
        #expect(found.contains { $0.hasPrefix("s.yaml:3: count must be a whole number") })
        #expect(found.contains { $0.hasPrefix("s.yaml:3: connector is missing") })
        #expect(found.contains { $0.hasPrefix("s.yaml:5: operation is missing") })
        #expect(found.contains { $0.hasPrefix("s.yaml:8: {{row.id}} needs rows") })
        #expect(found.contains { $0.hasPrefix("s.yaml:9: unknown placeholder {{nope}}") })
        #expect(found.contains { $0.hasPrefix("s.yaml:13: perSecond must be a number") })
        #expect(found.contains { $0.hasPrefix("s.yaml:14: durationMs must be a whole number") })
        #expect(found.count == 8)
    }

    @Test func unquotedTemplatesAreExplained() {
        let found = problems(small + "\n    row: each\n  - {count: 1, operation: A, variables: {id: {{row.id}}}}")
        #expect(found.contains { $0.contains("must be quoted") })
    }

    @Test func otherTextIsRefused() {
        #expect(problems("") == ["s.yaml: is empty"])
        #expect(problems("- a") == ["s.yaml:1: the file must be a mapping"])
        #expect(problems("a: [").first?.contains("invalid YAML") == true)
        #expect(problems("connector: m") == ["s.yaml:1: subscribers needs at least one group"])
    }

    @Test func overridesKeepShares() throws {
        var scenario = try ScenarioFile.parse(name: "s.yaml", text: small)
        scenario.groups.append(scenario.groups[0])
        scenario.groups[1].count = 6
        scenario.mutations = [
            .init(
                connector: "m", operation: "A", perSecond: 2, variables: .object([]), token: nil, retryMs: 0,
                row: .each, line: 1),
            .init(
                connector: "m", operation: "B", perSecond: 6, variables: .object([]), token: nil, retryMs: 0,
                row: .each, line: 1),
        ]
        var overrides = Scenario.Overrides()
        overrides.subscribers = 100
        overrides.perSecond = 80
        overrides.transport = .sse
        let changed = scenario.applying(overrides)
        #expect(changed.groups.map(\.count) == [33, 67])
        #expect(changed.mutations.map(\.perSecond) == [20, 60])
        #expect(changed.groups.allSatisfy { $0.transport == .sse })
        #expect(scenario.applying(.init()) == scenario)
    }

    @Test func shippedScenariosParse() throws {
        let names = try Repository.entries(of: "config/load").filter { $0.hasSuffix(".yaml") }
        #expect(Set(names).isSuperset(of: ["hot-key.yaml", "many-keys.yaml", "category-lists.yaml"]))
        for name in names {
            let scenario = try ScenarioFile.parse(name: name, text: try Repository.text("config/load/" + name))
            #expect(scenario.subscriberCount == 200 && scenario.mutationsPerSecond == 20)
            let templates = scenario.mutations.flatMap(\.variables.templates)
            #expect(templates.contains { $0.parts.contains(.placeholder(.marker)) })
        }
    }
}
