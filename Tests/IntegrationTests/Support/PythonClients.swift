import Foundation

/// The Python programs in `Python/`, run in their virtual environment. The environment is made when it is missing; a test
/// fails with what the set-up said when that is not possible.
enum PythonClients {
    static let folder = Paths.root + "/Tests/IntegrationTests/Python"

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a program to its end and returns what it printed.
    static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let setup = try FreshetProcess([], executable: folder + "/setup.sh")
        guard await setup.waitForExit() == 0 else {
            throw Failure(description: "the Python clients could not be set up:\n\(setup.output)")
        }
        let process = try FreshetProcess(
            ["-I", "\(folder)/\(program)"] + arguments, executable: Paths.root + "/.venv-clients/bin/python")
        let code = await process.waitForExit()
        guard code == 0 else {
            throw Failure(description: "\(program) \(arguments.first ?? "") ended with \(code):\n\(process.output)")
        }
        return process.output
    }
}
