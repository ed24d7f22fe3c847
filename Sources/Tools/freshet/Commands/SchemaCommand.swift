import ArgumentParser
import Catalog
import Foundation
import SchemaModel
import SchemaSDL

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Shows the GraphQL schema of a project.", subcommands: [Print.self])

    struct Print: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the generated schema as SDL, for editors and client generators.",
            discussion: "The same project always yields the same text. Connectors need not compile.")

        @Argument(help: "Project folder: dataconnect.yaml, schema and connectors.")
        var project: String

        @Option(name: .shortAndLong, help: "File to write instead of standard output.")
        var output: String?

        func run() throws {
            let project = ProjectLoading.project(at: project)
            let text: String
            do throws(CatalogError) {
                text = try Catalog.graphQLSchema(of: project).text
            } catch {
                Terminal.report(error.diagnostics)
                throw ExitCode(1)
            }
            guard let output else {
                FileHandle.standardOutput.write(Data(text.utf8))
                return
            }
            do {
                try text.write(toFile: output, atomically: true, encoding: .utf8)
            } catch {
                Terminal.fail("\(output) cannot be written: \(error.localizedDescription)")
            }
        }
    }
}
