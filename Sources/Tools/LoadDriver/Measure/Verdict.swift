import JSON

/// The result of comparing every subscriber's last result with a read of its query.
package struct Verdict: Sendable, Hashable {
    /// A live query on which subscribers have a wrong result.
    package struct Difference: Sendable, Hashable {
        package var operation: String
        /// The variables as compact JSON.
        package var variables: String
        package var subscribers: Int
        package var reason: String

        package init(operation: String, variables: String, subscribers: Int, reason: String) {
            self.operation = operation
            self.variables = variables
            self.subscribers = subscribers
            self.reason = reason
        }
    }

    /// The limit on differences in the report.
    package static let differencesMax = 10

    package var subscribers: Int
    package var notConverged: Int
    package var liveQueries: Int
    /// Time from the last mutation's response to the last comparison.
    package var settledMs: Int64
    package var differences: [Difference]

    package init(
        subscribers: Int, notConverged: Int, liveQueries: Int, settledMs: Int64, differences: [Difference] = []
    ) {
        self.subscribers = subscribers
        self.notConverged = notConverged
        self.liveQueries = liveQueries
        self.settledMs = settledMs
        self.differences = differences
    }

    package var isConverged: Bool { notConverged == 0 }
}

/// The results that the subscribers of one live query hold, each distinct payload once.
package struct HeldResults: Sendable {
    package struct Payload: Sendable {
        /// The payload, `{"data":…}`; nil if nothing was received.
        package var bytes: [UInt8]?
        package var subscribers: Int
    }

    package private(set) var payloads: [Payload] = []

    package init() {}

    package var subscribers: Int { payloads.reduce(0) { $0 + $1.subscribers } }

    package mutating func add(_ bytes: [UInt8]?, subscribers: Int = 1) {
        // There are few distinct payloads: the newest and some of its predecessors.
        if let position = payloads.lastIndex(where: { $0.bytes == bytes }) {
            payloads[position].subscribers += subscribers
        } else {
            payloads.append(Payload(bytes: bytes, subscribers: subscribers))
        }
    }

    package mutating func add(_ other: HeldResults) {
        for payload in other.payloads { add(payload.bytes, subscribers: payload.subscribers) }
    }

    /// Returns the number of subscribers whose result differs from `read`, with a short reason; nil if there are none.
    package func difference(from read: [UInt8]) -> (subscribers: Int, reason: String)? {
        var without = 0
        var differing = 0
        for payload in payloads {
            guard let bytes = payload.bytes else {
                without += payload.subscribers
                continue
            }
            if !Self.isSameData(bytes, read) { differing += payload.subscribers }
        }
        guard without + differing > 0 else { return nil }
        var reasons: [String] = []
        if differing > 0 { reasons.append("\(differing) with a different result") }
        if without > 0 { reasons.append("\(without) without any result") }
        return (without + differing, reasons.joined(separator: ", "))
    }

    /// Returns whether the bytes or the parsed `data` members are equal.
    static func isSameData(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        if left == right { return true }
        guard let left = try? JSONParser.parse(left)["data"], let right = try? JSONParser.parse(right)["data"] else {
            return false
        }
        return left == right
    }
}
