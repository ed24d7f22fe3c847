import CEL
import Foundation
import TestSupport
import Testing

/// The vectors of the CEL specification, read in place.
@Suite struct CELConformanceTests {
    private struct Tally {
        var passed = 0
        var failed = 0
        var skipped: [String: Int] = [:]
    }

    @Test(.vectors("cel")) func vectorsOfTheSpecificationPass() throws {
        let files = ConformanceVectors.files(in: "cel", ending: ".jsonl")
        try #require(!files.isEmpty)
        var tallies: [String: Tally] = [:]
        for file in files {
            for line in try ConformanceVectors.lines(of: file) {
                let vector = try Vector(line: String(decoding: line, as: UTF8.self))
                if let reason = Skips.reason(needsProto: vector.needsProto, extensions: vector.extensions) {
                    tallies[vector.suite, default: Tally()].skipped[reason, default: 0] += 1
                } else if let problem = Self.problem(with: vector) {
                    tallies[vector.suite, default: Tally()].failed += 1
                    Issue.record("\(vector.name): \(vector.source): \(problem)")
                } else {
                    tallies[vector.suite, default: Tally()].passed += 1
                }
            }
        }
        Self.printSummary(tallies)
        #expect(tallies.values.map(\.passed).reduce(0, +) > 0)
    }

    /// Nil when the vector passes.
    private static func problem(with vector: Vector) -> String? {
        do {
            let expectation = try vector.expectation()
            let outcome = try outcome(of: vector)
            switch (expectation, outcome) {
            case (.error, .failure): return nil
            case (.error, .success(let value, _)):
                return "expected an error, found \(value.map { "\($0)" } ?? "a type")"
            case (_, .failure(let text)): return text
            case (.deducedType(let wanted), .success(_, let type)):
                return wanted == type ? nil : "deduced \(type), expected \(wanted)"
            case (.value(let wanted, let wantedType), .success(let value, let type)):
                guard let value, value.matches(wanted) else {
                    return "found \(value.map { "\($0)" } ?? "nothing"), expected \(wanted)"
                }
                return wantedType == nil || wantedType == type ? nil : "deduced \(type)"
            }
        } catch {
            return "vector not understood: \(error)"
        }
    }

    private enum Outcome {
        case success(Value?, CELType)
        case failure(String)
    }

    private static func outcome(of vector: Vector) throws -> Outcome {
        let bindings = try vector.bindings()
        var (variables, functions) = try vector.declarations()
        for name in bindings.keys.sorted() where !variables.contains(where: { $0.name == name }) {
            variables.append(VariableDeclaration(name: name, type: .dyn))
        }
        let environment = Environment(
            container: vector.container, variables: variables, functions: functions,
            expandMacros: !vector.disablesMacros)
        do {
            if vector.checksOnly { return .success(nil, try environment.deduceType(vector.source)) }
            let program =
                vector.disablesCheck
                ? try environment.compileUnchecked(vector.source) : try environment.compile(vector.source)
            let activation = SlotActivation(variables.map { bindings[$0.name] })
            return .success(try program.evaluate(activation), program.resultType)
        } catch {
            return .failure("\(error)")
        }
    }

    private static func printSummary(_ tallies: [String: Tally]) {
        func row(_ name: String, _ tally: Tally) -> String {
            let counts = [tally.passed, tally.failed, tally.skipped.values.reduce(0, +)]
                .map { String(repeating: " ", count: max(0, 9 - "\($0)".count)) + "\($0)" }.joined()
            let reasons = tally.skipped.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
            return name.padding(toLength: 16, withPad: " ", startingAt: 0) + counts + "  "
                + reasons.joined(separator: ", ")
        }
        var total = Tally()
        var lines = ["CEL conformance    passed   failed  skipped  reasons"]
        for (suite, tally) in tallies.sorted(by: { $0.key < $1.key }) {
            lines.append(row(suite, tally))
            total.passed += tally.passed
            total.failed += tally.failed
            total.skipped.merge(tally.skipped, uniquingKeysWith: +)
        }
        print((lines + [row("total", total)]).joined(separator: "\n"))
    }
}
