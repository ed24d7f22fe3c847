import ArgumentParser
import Foundation
import ProjectFolder

struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a small new project: a list of tasks, with queries that refresh without a rule.")

    @Argument(help: "Folder of the new project; it must be empty or missing.")
    var project: String

    @Option(help: "Id of the service and its connector; by default the name of the folder.")
    var service: String?

    func run() {
        let service = service ?? URL(fileURLWithPath: project).standardizedFileURL.lastPathComponent
        do {
            let files = try NewProject(serviceID: service).write(to: project)
            for file in files { Terminal.out("\(project)/\(file)") }
            Terminal.error("\nNow: freshet dev \(project)\n     freshet subscribe Tasks --vars '{\"list\": \"home\"}'")
            Terminal.error("     freshet execute AddTask --vars '{\"list\": \"home\", \"title\": \"Try Freshet\"}'")
        } catch {
            Terminal.fail("\(error)")
        }
    }
}
