package import LoadDriver

/// Checks every delivery for numbers that decrease for a session, although they only increase in Postgres, and records
/// when each operation shows mutations that came after a fault.
package struct DeliveryWatch: Sendable {
    /// An older result delivered to a session after a newer one.
    package struct Regression: Sendable, Hashable {
        package var subscriber: Int
        package var operation: String
        package var transport: LoadTransport
        package var from: Int
        package var to: Int
        /// The mutation whose effect the newer result contained; nil if unknown.
        package var marker: Int?
        /// Whether the session had reconnected between the two results.
        package var isAcrossConnections: Bool

        /// Whether this violates a guarantee. Clients that reconnect with a resume tag never see an older result; the
        /// load driver has none over WebSockets.
        package var isMiss: Bool {
            !isAcrossConnections || transport != .graphqlTransportWS
        }
    }

    /// The first delivery of each mutation sent since a fault, by operation.
    package struct Probe: Sendable {
        package let startNs: Int64
        package let fromSequence: Int
        /// The names of the operations without their connector.
        package let operations: Set<String>
        package fileprivate(set) var firsts: [String: Int64] = [:]
        fileprivate var shown: [String: [Int: Int64]] = [:]

        /// The limit on deliveries kept for each operation.
        static let shownMax = 20_000

        package init(startNs: Int64, fromSequence: Int, operations: Set<String>) {
            self.startNs = startNs
            self.fromSequence = fromSequence
            self.operations = operations
        }

        /// Time from the fault until each of its operations was refreshed; nil if one never was.
        package var firstRefreshMs: Int? {
            guard !operations.isEmpty, firsts.count == operations.count, let last = firsts.values.max() else {
                return nil
            }
            return Int((last - startNs) / 1_000_000)
        }

        /// Returns the longest time from a mutation's response to its effect.
        package func longestWaitMs(answeredNs: (Int) -> Int64?) -> Int? {
            shown.values.flatMap { $0 }.compactMap { sequence, atNs in
                answeredNs(sequence).map { Int(max(0, atNs - $0) / 1_000_000) }
            }.max()
        }
    }

    /// The limit on regressions kept; further ones are counted.
    package static let regressionsMax = 20

    package private(set) var regressions: [Regression] = []
    package private(set) var regressionCount = 0
    /// Older results after a reconnect without a resume tag, which are allowed: see README, "Limits".
    package private(set) var withoutTag = 0
    package var probe: Probe?
    private var held: [Int: (connection: Int, versions: [Int], markers: [Int])] = [:]

    package init() {}

    package mutating func delivered(
        subscriber: Int, connection: Int, operation: String, transport: LoadTransport, versions: [Int],
        markers: [Int], atNs: Int64
    ) {
        if let before = held[subscriber], before.versions.count == versions.count {
            if let index = versions.indices.first(where: { versions[$0] < before.versions[$0] }) {
                let regression = Regression(
                    subscriber: subscriber, operation: operation, transport: transport,
                    from: before.versions[index], to: versions[index],
                    // Each row has a marker once it was changed.
                    marker: before.markers.count == before.versions.count ? before.markers[index] : nil,
                    isAcrossConnections: before.connection != connection)
                if regression.isMiss { regressionCount += 1 } else { withoutTag += 1 }
                if regression.isMiss, regressions.count < Self.regressionsMax { regressions.append(regression) }
            }
        }
        held[subscriber] = (connection, versions, markers)
        guard let from = probe?.fromSequence, probe?.operations.contains(operation) == true else { return }
        for sequence in markers where sequence >= from {
            if probe?.firsts[operation] == nil { probe?.firsts[operation] = atNs }
            if probe?.shown[operation]?[sequence] == nil,
                (probe?.shown[operation]?.count ?? 0) < Probe.shownMax
            {
                probe?.shown[operation, default: [:]][sequence] = atNs
            }
        }
    }

    /// Returns the regressions since the last call.
    package mutating func takeRegressions() -> [Regression] {
        defer { regressions = [] }
        return regressions
    }

    /// Returns the integers of all `"value"` members in order.
    package static func versions(in payload: [UInt8]) -> [Int] {
        var found: [Int] = []
        var at = 0
        while at + key.count < payload.count {
            guard payload[at] == key[0], payload[at..<at + key.count].elementsEqual(key) else {
                at += 1
                continue
            }
            at += key.count
            while at < payload.count, payload[at] == UInt8(ascii: " ") { at += 1 }
            var number = 0
            while at < payload.count, (0x30...0x39).contains(payload[at]), number < Int(Int32.max) {
                number = number * 10 + Int(payload[at] - 0x30)
                at += 1
            }
            found.append(number)
        }
        return found
    }

    private static let key = Array(#""value":"#.utf8)
}
