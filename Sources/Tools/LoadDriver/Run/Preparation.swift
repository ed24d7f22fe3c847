import Clocks
import JSON
import ProtocolClients
import SeededRandom

/// The preparation of a run before its first connection: reads rows, expands every subscriber's live query, and checks
/// that the server has the operations.
struct Preparation: Sendable {
    var rows: [JSONValue] = []
    /// The distinct live queries.
    var targets: [LiveQueryTarget] = []
    /// The index of each subscriber's live query in `targets`, and its transport.
    var subscribers: [(query: Int, transport: LoadTransport)] = []

    /// Prepares a run.
    /// - Throws: `LoadError`.
    static func make(
        _ scenario: Scenario, seed: UInt64, token: String?, pool: HTTPPool
    ) async throws(LoadError) -> Preparation {
        var made = Preparation()
        if let rows = scenario.rows { made.rows = try await read(rows, scenario, token, pool) }
        try made.checkRows(scenario)
        var firsts: [Int] = []
        made.expand(scenario, seed: seed, token: token, firsts: &firsts)
        for (group, query) in zip(scenario.groups.filter { $0.count > 0 }, firsts) {
            let result = await pool.call(.query(made.targets[query]))
            if let failure = result.failure {
                throw LoadError(failure, scenario, line: group.line, operation: group.operation)
            }
        }
        return made
    }

    /// Expands all subscribers, in the order of their index so that the seed determines the result.
    private mutating func expand(_ scenario: Scenario, seed: UInt64, token: String?, firsts: inout [Int]) {
        var random = SeededRandom(seed: seed, stream: 1)
        var known: [LiveQueryTarget: Int] = [:]
        let nowMs = WallClock.nowMs()
        for group in scenario.groups {
            for groupIndex in 0..<group.count {
                let context = TemplateContext(
                    index: subscribers.count, groupIndex: groupIndex,
                    row: group.row.row(of: rows, index: groupIndex, &random), nowMs: nowMs)
                let target = LiveQueryTarget(
                    connector: group.connector, operation: group.operation,
                    variables: group.variables.expand(context, &random).objectValue ?? JSONObject(),
                    token: group.token?.expandText(context, &random) ?? token)
                let query = known[target] ?? targets.count
                if query == targets.count {
                    known[target] = query
                    targets.append(target)
                }
                if groupIndex == 0 { firsts.append(query) }
                subscribers.append((query, group.transport))
            }
        }
    }

    private static func read(
        _ rows: Scenario.Rows, _ scenario: Scenario, _ token: String?, _ pool: HTTPPool
    ) async throws(LoadError) -> [JSONValue] {
        var found: [JSONValue] = []
        for variables in rows.variables {
            let target = LiveQueryTarget(
                connector: rows.connector, operation: rows.operation, variables: variables, token: token)
            let result = await pool.call(.query(target))
            if let failure = result.failure {
                throw LoadError(failure, scenario, line: rows.line, operation: rows.operation)
            }
            guard case .success(let response) = result else { continue }
            let data = (try? JSONParser.parse(response.body))?["data"]
            guard let list = rows.path.reduce(data, { value, key in value?[key] })?.arrayValue else {
                throw LoadError(
                    scenario, line: rows.line,
                    "the result of \(rows.operation) has no list at \"\(rows.path.joined(separator: "."))\"")
            }
            found.append(contentsOf: list)
        }
        guard !found.isEmpty else {
            throw LoadError(scenario, line: rows.line, "\(rows.operation) found no rows; is the database seeded?")
        }
        return Array(found.prefix(rows.rowsMax))
    }

    /// Checks that every row has each field that a template reads.
    private func checkRows(_ scenario: Scenario) throws(LoadError) {
        func check(_ tree: TemplateTree, _ token: Template?, line: Int) throws(LoadError) {
            for path in (tree.templates + (token.map { [$0] } ?? [])).flatMap(\.rowPaths) {
                let isEverywhere = rows.allSatisfy { row in
                    path.reduce(Optional(row)) { value, key in value?[key] } != nil
                }
                if !isEverywhere {
                    throw LoadError(scenario, line: line, "the rows have no field \"\(path.joined(separator: "."))\"")
                }
            }
        }
        for group in scenario.groups { try check(group.variables, group.token, line: group.line) }
        for mutation in scenario.mutations { try check(mutation.variables, mutation.token, line: mutation.line) }
    }
}

extension Result where Success == PlainResponse, Failure == CodedFailure {
    /// The failure, including that of an error response.
    var failure: CodedFailure? {
        switch self {
        case .success(let response): CodedFailure(status: response.status, body: response.body)
        case .failure(let failure): failure
        }
    }
}

/// The reason that a run cannot start.
package struct LoadError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The scenario does not fit the server.
        case scenario
        /// The server or this machine cannot run it.
        case environment
    }

    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ scenario: Scenario, line: Int, _ message: String) {
        self.init(.scenario, "\(scenario.file):\(line): \(message)")
    }

    init(_ failure: CodedFailure, _ scenario: Scenario, line: Int, operation: String) {
        let notTheScenario = [
            "CANNOT_CONNECT", "CONNECTION_LOST", "TIMEOUT_CLIENT", "TIMEOUT", "UNAVAILABLE", "LIMIT_EXCEEDED",
            "INTERNAL",
        ]
        if notTheScenario.contains(failure.code) || failure.code.hasPrefix("HTTP_5") {
            self.init(.environment, "\(operation): \(failure.code): \(failure.message)")
        } else {
            self.init(scenario, line: line, "\(operation): \(failure.code): \(failure.message)")
        }
    }
}
