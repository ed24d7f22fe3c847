import Foundation
import LocalServers
import Testing

/// `psql`, as an operator would.
struct PostgresOperator {
    let connectionString: String

    init(_ server: LocalPostgres) throws { connectionString = server.connectionString }

    /// - Parameter folder: the data of a private server that another process runs.
    init(folder: String) throws {
        let password = try String(contentsOfFile: folder + "/password", encoding: .utf8)
        connectionString =
            "host=\(folder)/socket user=\(LocalPostgres.user) dbname=freshet password="
            + password.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @discardableResult
    func run(_ sql: String) throws -> String {
        try #require(try attempt(sql))
    }

    /// Returns nil if the server refuses.
    func attempt(_ sql: String) throws -> String? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/psql")
        process.arguments = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", connectionString, "-c", sql]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { return nil }
        return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Asks until the answer is this. Bounded by the test's time limit.
    func until(_ sql: String, is wanted: String) throws {
        while try run(sql) != wanted { try Task.checkCancellation() }
    }
}
