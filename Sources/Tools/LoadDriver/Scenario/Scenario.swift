package import JSON

/// The protocol of a subscriber's connection.
package enum LoadTransport: String, Sendable, Hashable, CaseIterable {
    case graphqlTransportWS = "graphql-transport-ws"
    case longpoll
    case sse
}

/// The description of a load run, read from a file by `ScenarioFile`.
package struct Scenario: Sendable, Hashable {
    /// Limits on values of files and options.
    package static let subscribersMax = 1_000_000
    package static let perSecondMax: Double = 100_000
    package static let mutationsMax = 20_000_000
    package static let durationMsMax: Int64 = 24 * 3_600_000

    /// The choice of the row that a template sees.
    package enum RowChoice: String, Sendable, Hashable, CaseIterable {
        case first, each, random
    }

    /// A query that runs once at the start; templates see its rows.
    package struct Rows: Sendable, Hashable {
        package var connector: String
        package var operation: String
        /// The query runs once with each of these.
        package var variables: [JSONObject]
        /// The path in `data` to the list of rows.
        package var path: [String]
        package var rowsMax: Int
        package var line: Int
    }

    package struct Group: Sendable, Hashable {
        package var count: Int
        package var connector: String
        package var operation: String
        package var transport: LoadTransport
        package var variables: TemplateTree
        package var token: Template?
        package var row: RowChoice
        package var line: Int
    }

    package struct Mutation: Sendable, Hashable {
        package var connector: String
        package var operation: String
        package var perSecond: Double
        package var variables: TemplateTree
        package var token: Template?
        /// The time for which a mutation without an answer is sent again with its idempotency key; 0: it is sent once,
        /// without a key.
        package var retryMs: Int64
        package var row: RowChoice
        package var line: Int
    }

    /// The start of the time from mutation to delivery.
    package enum LatencyStart: String, Sendable, Hashable, CaseIterable {
        /// The arrival of the mutation's response.
        case commit
        /// The time at which the mutation was due.
        case send
    }

    /// The file's name in messages.
    package var file: String
    package var name: String
    package var seed: UInt64?
    package var rows: Rows?
    package var groups: [Group]
    package var mutations: [Mutation]
    package var connectPerSecond: Double
    package var connectTimeoutMs: Int64
    package var warmUpMs: Int64
    package var durationMs: Int64
    package var settleMs: Int64
    /// The time limit for a mutation or one-shot read, including the wait for a connection.
    package var requestTimeoutMs: Int64
    package var latencyFrom: LatencyStart

    package var subscriberCount: Int { groups.reduce(0) { $0 + $1.count } }
    package var mutationsPerSecond: Double { mutations.reduce(0) { $0 + $1.perSecond } }

    /// Values overridden on the command line.
    package struct Overrides: Sendable, Hashable {
        package var subscribers: Int?
        package var perSecond: Double?
        package var durationMs: Int64?
        package var transport: LoadTransport?
        package var seed: UInt64?

        package init() {}
    }

    /// Returns the scenario with counts and rates scaled to new totals. Every group keeps its share, and the total is
    /// exact.
    package func applying(_ overrides: Overrides) -> Scenario {
        var scenario = self
        if let total = overrides.subscribers, subscriberCount > 0 {
            let before = subscriberCount
            var passed = 0
            var given = 0
            for position in groups.indices {
                passed += groups[position].count
                let upTo = Int((Double(total) * Double(passed) / Double(before)).rounded())
                scenario.groups[position].count = upTo - given
                given = upTo
            }
        }
        if let rate = overrides.perSecond, mutationsPerSecond > 0 {
            let factor = rate / mutationsPerSecond
            for position in mutations.indices { scenario.mutations[position].perSecond *= factor }
        }
        if let durationMs = overrides.durationMs { scenario.durationMs = durationMs }
        if let seed = overrides.seed { scenario.seed = seed }
        if let transport = overrides.transport {
            for position in groups.indices { scenario.groups[position].transport = transport }
        }
        return scenario
    }
}

/// The problems of an invalid scenario.
package struct ScenarioError: Error, Sendable, Hashable, CustomStringConvertible {
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// `file:line`, or the file alone.
        package let location: String
        package let message: String

        package var description: String { "\(location): \(message)" }
    }

    /// The problems; at least one.
    package let problems: [Problem]

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
