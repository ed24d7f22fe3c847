import ArgumentParser
import Catalog
import Foundation
import Inspection
import JSON
import LiveModel
import Operations
import Refresh
import SchemaModel

struct Rules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "Tries edited refresh rules on recorded events.", subcommands: [Try.self])

    struct Try: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says which live queries edited rules would have refreshed, missed and spared.",
            discussion: """
                The events are those of `freshet admin events`. The edited rules are those of a project folder \
                (--project), or one rule of a query with another condition (--query, --condition).

                missed: the edited rules leave out a refresh that found another result. spared: one that found the \
                same result. unproven: one of which no recorded run tells. added: a refresh by the edited rules alone. \
                unjudged: a condition reads a value that the recording hides. --fail-on makes the exit code 3 if any \
                of the named was counted, else 4 if the trial is incomplete: it ended early, or the file lacks nodes, \
                live queries or events of the rules.
                """)

        @Option(help: ArgumentHelp("Recorded events, from `freshet admin events --out`.", valueName: "file"))
        var events: String

        @Option(help: ArgumentHelp("Project folder with the edited rules.", valueName: "folder"))
        var project: String?

        @Option(help: ArgumentHelp("The query whose rule is edited.", valueName: "connector/query"))
        var query: String?

        @Option(help: "The number of the edited rule in source order; not needed if the query has one only.")
        var rule: Int?

        @Option(
            help: ArgumentHelp(
                "Try a further rule about this mutation instead of an edited one.", valueName: "connector/mutation"))
        var mutation: String?

        @Option(help: ArgumentHelp("The condition to try; without it the rule has none.", valueName: "cel"))
        var condition: String?

        @Option(help: "Exit with 3 if these were counted, separated by commas: missed, unproven, added, unjudged.")
        var failOn: String?

        @Flag(help: "Print the answer as JSON.")
        var json = false

        func validate() throws {
            guard (project == nil) != (query == nil) else { throw ValidationError("give either --project or --query") }
            if query == nil, rule != nil || mutation != nil || condition != nil {
                throw ValidationError("--rule, --mutation and --condition need --query")
            }
            _ = try failing
            _ = try reference(query, "--query")
            _ = try reference(mutation, "--mutation")
        }

        private var failing: [RuleTrial.Effect] {
            get throws {
                try (failOn ?? "").split(separator: ",").map { name in
                    guard let effect = RuleTrial.Effect(rawValue: String(name)), effect != .refreshed else {
                        throw ValidationError(
                            "--fail-on: unknown value \"\(name)\"; there are missed, spared, unproven, added, unjudged")
                    }
                    return effect
                }
            }
        }

        private func reference(_ text: String?, _ option: String) throws -> OperationReference? {
            guard let text else { return nil }
            guard let reference = OperationReference(text) else {
                throw ValidationError("\(option) must be CONNECTOR/OPERATION")
            }
            return reference
        }

        func run() async throws {
            let recording = Self.recording(events)
            let trial: RuleTrial
            do {
                if let query = try reference(query, "--query") {
                    let edit = try RuleEdit(
                        query, number: rule, mutation: try reference(mutation, "--mutation"), condition: condition,
                        in: recording)
                    trial = try RuleTrial(recording) { known throws(TrialRule.ConditionError) in
                        try edit.rules(of: known)
                    }
                } else {
                    let edited = Self.rules(of: project ?? ".")
                    trial = try RuleTrial(recording) { known throws(TrialRule.ConditionError) in
                        // A query that the project no longer has loses its live queries, too.
                        edited[known.operation]
                    }
                }
            } catch {
                Terminal.fail("\(error)")
            }
            Terminal.out(json ? trial.json.description : TrialText(trial.json).text)
            if try failing.contains(where: { trial.total($0) > 0 }) { Foundation.exit(3) }
            if try !failing.isEmpty, !trial.incomplete.isEmpty { Foundation.exit(4) }
        }

        private static func recording(_ path: String) -> EventRecording {
            guard let data = FileManager.default.contents(atPath: path) else {
                Terminal.fail("\(path) cannot be read")
            }
            do throws(EventRecording.LineError) {
                return try EventRecording(text: Array(data))
            } catch {
                Terminal.fail("\(path):\(error.line): \(error.problem)")
            }
        }

        private static func rules(of folder: String) -> [OperationReference: [TrialRule]] {
            let catalog = ProjectLoading.catalog(
                of: ProjectLoading.project(at: folder), everyMinimumMs: CatalogOptions().everyMinimumMs)
            let queries = catalog.connectors.values.flatMap(\.operations.values).filter { $0.kind == .query }
            return Dictionary(
                uniqueKeysWithValues: queries.map { query in
                    (
                        query.reference,
                        query.refresh.triggers.map { TrialRule(mutation: $0.mutation, condition: $0.condition) }
                    )
                })
        }
    }
}

/// A trial for people: the answer of the admin API as of the command.
struct TrialText {
    private let answer: JSONValue

    init(_ answer: JSONValue) {
        self.answer = answer
    }

    var text: String {
        var lines = [answer["sentence"]?.stringValue ?? ""]
        lines += (answer["incomplete"]?.arrayValue ?? []).map { "incomplete: \($0.stringValue ?? "")" }
        let rows = answer["operations"]?.arrayValue ?? []
        if !rows.isEmpty {
            lines += [
                "",
                TextTable(
                    columns: [
                        "operation", .init("live queries", "liveQueries"), "refreshed", "missed", "spared", "unproven",
                        "added", "unjudged",
                    ], rows: rows
                ).text,
            ]
        }
        for row in rows {
            for example in row["examples"]?.arrayValue ?? [] {
                let (effect, variables) = (Self.text(example, "effect"), example["variables"]?.description ?? "{}")
                lines += [
                    "", "\(effect): \(Self.text(row, "operation")) \(variables)",
                    "  after \(Self.text(example, "mutation")): \(Self.text(example, "reason"))",
                ]
            }
        }
        for event in (answer["unjudged"]?.arrayValue ?? []).prefix(20) {
            lines.append(
                "cannot judge \(Self.text(event, "mutation")) \(Self.text(event, "event")): "
                    + Self.text(event, "reason"))
        }
        let leftOut = answer["leftOut"]?.intValue ?? 0
        if leftOut > 0 { lines.append("\(leftOut) events, runs and live queries did not fit into the recording.") }
        return lines.joined(separator: "\n")
    }

    private static func text(_ value: JSONValue, _ name: String) -> String { value[name]?.stringValue ?? "" }
}
