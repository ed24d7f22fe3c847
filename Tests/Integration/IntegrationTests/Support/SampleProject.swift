import Foundation
import TestSupport
import Testing

enum SampleProject {
    static let path = Repository.path("config/auctions")
}

/// Suites that run `freshet` on a copy of the sample project.
protocol SampleProjectTests {}

extension SampleProjectTests {
    /// A copy of the sample to edit, gone afterwards.
    func withProject(_ body: (_ project: String, _ folder: String) async throws -> Void) async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path
        try FileManager.default.copyItem(atPath: SampleProject.path, toPath: folder + "/project")
        try await body(folder + "/project", folder)
    }

    func append(_ text: String, to file: String) throws {
        let former = try String(contentsOfFile: file, encoding: .utf8)
        try (former + text).write(toFile: file, atomically: true, encoding: .utf8)
    }

    func output(_ arguments: [String], code: Int32 = 0) async throws -> String {
        let process = try FreshetProcess(arguments)
        #expect(await process.waitForExit() == code, "\(process.output)")
        return process.output
    }
}
