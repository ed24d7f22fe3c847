import Foundation
import JSON
import NIOHTTP1
import ProtocolClients
import TestSupport

/// A node's admin endpoint, by what the node printed when it was ready.
struct AdminClient: Sendable {
    let node: String
    let address: ServerAddress

    init(_ process: FreshetProcess) async throws {
        let parts = try await process.line(containing: "ready http").split(separator: " ").map(String.init)
        guard parts.count == 6, parts[4] == "admin" else { throw NoAdmin(line: parts.joined(separator: " ")) }
        node = parts[3]
        address = try ServerAddress(parts[5])
    }

    struct NoAdmin: Error { let line: String }

    func get(_ path: String) async throws -> JSONValue {
        try JSONParser.parse(try await HTTPCall.send(.GET, address, path: "/admin/" + path).body)
    }

    @discardableResult
    func post(_ path: String) async throws -> (status: Int, body: JSONValue) {
        let response = try await HTTPCall.send(
            .POST, address, path: "/admin/" + path,
            headers: ["x-freshet-operator": "the test", "content-type": "application/json"])
        return (response.status, try JSONParser.parse(response.body))
    }

    /// Asks until the answer fits.
    @discardableResult
    func wait(_ path: String, where fits: @Sendable (JSONValue) -> Bool) async throws -> JSONValue {
        var last = JSONValue.null
        return try await waitFor("/admin/\(path), last \(last)") {
            last = try await get(path)
            // A bare nil would be a JSON null, which is a value.
            return fits(last) ? last : Optional.none
        }
    }

    /// `freshet admin …` against this node; its output.
    func command(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let process = try FreshetProcess(
            ["admin"] + arguments + ["--url", "http://\(address.host):\(address.port)"], environment: environment)
        _ = await process.waitForExit()
        return process.output
    }
}

extension JSONValue {
    /// Rows of an admin answer by the value of one column.
    func rows(_ name: String) -> [JSONValue] { self[name]?.arrayValue ?? [] }
}
