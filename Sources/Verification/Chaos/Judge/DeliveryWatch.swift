package import LoadDriver

/// Looks at every delivery: do the numbers that Postgres only ever counts up go down for a session, and when does which
/// operation show mutations that came after a fault?
package struct DeliveryWatch: Sendable {
    /// A session that was shown something older than before.
    package struct Regress: Sendable, Hashable {
        package var subscriber: Int
        package var operation: String
        package var transport: LoadTransport
        package var from: Int
        package var to: Int
        /// The mutation that the newer result showed there; nil when it cannot be told.
        package var marker: Int?
        /// The connection was another one than that of the newer result.
        package var isAcrossConnections: Bool

        /// Who reconnects with a resume tag never sees an older result; over WebSockets the load driver has none.
        package var isMiss: Bool {
            !isAcrossConnections || transport != .graphqlTransportWS
        }
    }

    /// Since a fault: the first delivery of each mutation that was sent afterwards, by operation.
    package struct Probe: Sendable {
        package let startNs: Int64
        package let fromSequence: Int
        /// Without the connector.
        package let operations: Set<String>
        package fileprivate(set) var firsts: [String: Int64] = [:]
        fileprivate var shown: [String: [Int: Int64]] = [:]

        /// Deliveries kept, for each operation.
        static let shownMax = 20_000

        package init(startNs: Int64, fromSequence: Int, operations: Set<String>) {
            self.startNs = startNs
            self.fromSequence = fromSequence
            self.operations = operations
        }

        /// From the fault until the last of its operations was fresh again; nil when one never was.
        package var firstRefreshMs: Int? {
            guard !operations.isEmpty, firsts.count == operations.count, let last = firsts.values.max() else {
                return nil
            }
            return Int((last - startNs) / 1_000_000)
        }

        /// The longest that a mutation's effect was waited for, from its answer.
        package func longestWaitMs(answeredNs: (Int) -> Int64?) -> Int? {
            shown.values.flatMap { $0 }.compactMap { sequence, atNs in
                answeredNs(sequence).map { Int(max(0, atNs - $0) / 1_000_000) }
            }.max()
        }
    }

    /// Misses kept; further ones are counted.
    package static let regressesMax = 20

    package private(set) var regresses: [Regress] = []
    package private(set) var regressCount = 0
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
            if let place = versions.indices.first(where: { versions[$0] < before.versions[$0] }) {
                let regress = Regress(
                    subscriber: subscriber, operation: operation, transport: transport,
                    from: before.versions[place], to: versions[place],
                    // Every row has one once it was changed.
                    marker: before.markers.count == before.versions.count ? before.markers[place] : nil,
                    isAcrossConnections: before.connection != connection)
                if regress.isMiss { regressCount += 1 } else { withoutTag += 1 }
                if regress.isMiss, regresses.count < Self.regressesMax { regresses.append(regress) }
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

    /// Those since the last call.
    package mutating func takeRegresses() -> [Regress] {
        defer { regresses = [] }
        return regresses
    }

    /// The whole numbers of every member `"value"`, in their order.
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
