import ArgumentParser
import CodeGeneration
import Foundation
import ProjectFolder
import SchemaModel

struct Generate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Generates typed client code from the operations, as connector.yaml asks for.",
        discussion: """
            Targets: typescript, swift, kotlin, dart, admin-node, tools; without any, all that `generate:` of the \
            connectors has. Writes only files that change, and replaces or removes only files that it wrote itself. \
            Exit code 1 if the project or the configuration has errors, if a file is in the way, or, with --check, if \
            something would change.
            """)

    @Argument(
        help: ArgumentHelp(
            "Targets, then the project folder: dataconnect.yaml, schema and connectors.", valueName: "target … project")
    )
    var arguments: [String] = []

    @Flag(help: "Generate again whenever a file of the project changes, until Ctrl-C.")
    var watch = false

    @Flag(help: "Change nothing; fail if something would change.")
    var check = false

    @Flag(help: "Also replace files that exist without being known as generated, or that were edited.")
    var force = false

    @Option(help: "Swift code for Freshet's own SDK or for FirebaseDataConnect, instead of what `flavor` says.")
    var flavor: SwiftOptions.Flavor?

    private var targets: [GenerationTarget] { arguments.compactMap(GenerationTarget.init(rawValue:)) }

    private var projects: [String] { arguments.filter { GenerationTarget(rawValue: $0) == nil } }

    func validate() throws {
        guard let project = projects.first else {
            throw ValidationError("Give a project folder.")
        }
        if projects.count > 1 {
            let names = GenerationTarget.allCases.map(\.rawValue).joined(separator: ", ")
            let unknown = projects.first { !FileManager.default.fileExists(atPath: $0) } ?? projects[1]
            throw ValidationError("\"\(unknown)\" is no target (\(names)), and the project is \"\(project)\".")
        }
        if watch, check { throw ValidationError("--watch and --check exclude each other.") }
    }

    func run() async throws {
        guard let project = projects.first else { return }
        let generator = CodeGenerator(
            folder: project,
            options: .init(
                targets: Set(targets), isCheck: check, isForced: force, swiftFlavor: flavor))
        guard watch else {
            if generate(generator) { return }
            throw ExitCode(1)
        }
        await FolderWatch.performAgain(with: project) { _ = generate(generator) }
    }

    /// - Returns: whether it succeeded.
    private func generate(_ generator: CodeGenerator) -> Bool {
        let outcome: CodeGenerator.Outcome
        do throws(CatalogError) {
            outcome = try generator.run()
        } catch {
            Terminal.report(error.diagnostics)
            return false
        }
        GenerationReport.show(outcome, isCheck: check)
        if outcome.outputs == 0, !outcome.hasFailed {
            let asked = targets.isEmpty ? "nothing" : "no \(targets.map(\.rawValue).joined(separator: " or "))"
            Terminal.error("connector.yaml asks for \(asked): see `generate` in docs/reference/generate.md")
        } else if outcome.changes.isEmpty, !outcome.hasFailed {
            Terminal.out("up to date: \(outcome.outputs == 1 ? "1 output" : "\(outcome.outputs) outputs")")
        }
        return !outcome.hasFailed && !(check && !outcome.changes.isEmpty)
    }
}

extension SwiftOptions.Flavor: ExpressibleByArgument {}

/// Prints what a generator did.
enum GenerationReport {
    static func show(_ outcome: CodeGenerator.Outcome, isCheck: Bool = false) {
        if !outcome.diagnostics.isEmpty { Terminal.report(outcome.diagnostics) }
        for change in outcome.changes { Terminal.out(isCheck ? "would be \(change)" : change) }
        for note in outcome.notes { Terminal.error(note) }
        for refusal in outcome.refusals { Terminal.error("refused: \(refusal)") }
        if !outcome.refusals.isEmpty {
            Terminal.error("nothing was written in these folders; --force replaces the files")
        }
    }
}
