package import JSON

/// How a subscriber is connected.
package enum LoadTransport: String, Sendable, Hashable, CaseIterable {
    case graphqlTransportWS = "graphql-transport-ws"
    case longpoll
    case sse
}

/// What a load run does: read from a file by `ScenarioFile`.
package struct Scenario: Sendable, Hashable {
    /// Bounds of what a file or an option may ask for.
    package static let subscribersMax = 1_000_000
    package static let perSecondMax: Double = 100_000
    package static let mutationsMax = 20_000_000
    package static let durationMsMax: Int64 = 24 * 3_600_000

    /// Which of the rows an expansion sees.
    package enum RowChoice: String, Sendable, Hashable, CaseIterable {
        case first, each, random
    }

    /// A query that is read once, before everything else; templates see its rows.
    package struct Rows: Sendable, Hashable {
        package var connector: String
        package var operation: String
        /// Run once with each.
        package var variables: [JSONObject]
        /// Members of `data` that lead to the list.
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
        package var row: RowChoice
        package var line: Int
    }

    /// Where the time from mutation to delivery starts.
    package enum LatencyStart: String, Sendable, Hashable, CaseIterable {
        /// When the mutation's answer arrived.
        case commit
        /// When the mutation was to be sent.
        case send
    }

    /// What messages call the file.
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
    /// For one answer to a mutation or a one-shot read, waiting for a connection included.
    package var requestTimeoutMs: Int64
    package var latencyFrom: LatencyStart

    package var subscriberCount: Int { groups.reduce(0) { $0 + $1.count } }
    package var mutationsPerSecond: Double { mutations.reduce(0) { $0 + $1.perSecond } }

    /// What the command line changes.
    package struct Overrides: Sendable, Hashable {
        package var subscribers: Int?
        package var perSecond: Double?
        package var durationMs: Int64?
        package var transport: LoadTransport?
        package var seed: UInt64?

        package init() {}
    }

    /// With counts and rates scaled to new totals; every group keeps its share, and the total is exact.
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

/// A scenario that cannot be run.
package struct ScenarioError: Error, Sendable, Hashable, CustomStringConvertible {
    package struct Problem: Sendable, Hashable, CustomStringConvertible {
        /// `file:line`, or the file alone.
        package let place: String
        package let message: String

        package var description: String { "\(place): \(message)" }
    }

    /// At least one.
    package let problems: [Problem]

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
