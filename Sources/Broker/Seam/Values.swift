package import LiveModel

/// One entry to append to a stream.
package struct StreamAppend: Sendable {
    /// A `lengthMax` below this is raised to it, so that gap detection may skip reads smaller than this (`GapCheck`).
    package static let lengthMaxFloor = 64

    package var stream: String
    /// In order; names may repeat; values are any bytes. At least one.
    package var fields: [(name: String, value: [UInt8])]
    /// Older entries may go once the stream has more than this many; at least this many stay. Nil: no bound here.
    package var lengthMax: Int?
    /// The whole stream disappears this long after its last append. Nil: it stays.
    package var expireMs: Int?

    package init(
        stream: String, fields: [(name: String, value: [UInt8])], lengthMax: Int? = nil, expireMs: Int? = nil
    ) {
        self.stream = stream
        self.fields = fields
        self.lengthMax = lengthMax.map { max($0, StreamAppend.lengthMaxFloor) }
        self.expireMs = expireMs
    }
}

/// One entry of a stream.
package struct StreamEntry: Sendable, Equatable {
    package var id: StreamID
    package var fields: [(name: String, value: [UInt8])]

    package init(id: StreamID, fields: [(name: String, value: [UInt8])]) {
        self.id = id
        self.fields = fields
    }

    /// The value of the first field of that name.
    package subscript(name: String) -> [UInt8]? { fields.first { $0.name == name }?.value }

    package static func == (left: StreamEntry, right: StreamEntry) -> Bool {
        left.id == right.id && left.fields.count == right.fields.count
            && zip(left.fields, right.fields).allSatisfy { $0.name == $1.name && $0.value == $1.value }
    }
}

/// What is known of a stream without reading it.
package struct StreamInfo: Sendable, Hashable {
    /// Entries held now.
    package var length: Int
    /// The oldest entry held; nil when there is none.
    package var firstID: StreamID?
    /// The last id ever given out, also when that entry is gone.
    package var lastID: StreamID
    /// The greatest id that was deleted one by one (trimming does not count).
    package var maxDeletedID: StreamID
    /// Entries added since the stream was created; `entriesAdded - length` were removed.
    package var entriesAdded: UInt64

    package init(
        length: Int, firstID: StreamID?, lastID: StreamID, maxDeletedID: StreamID = .zero, entriesAdded: UInt64
    ) {
        self.length = length
        self.firstID = firstID
        self.lastID = lastID
        self.maxDeletedID = maxDeletedID
        self.entriesAdded = entriesAdded
    }
}

/// A lease was obtained.
package struct LeaseGrant: Sendable, Hashable {
    package var epoch: UInt64
    /// The first epoch that the server's present process granted in its present role. What was read under an earlier
    /// one may lack entries that the server before it acknowledged and lost (a restart, a failover to a replica that
    /// was behind).
    /// The same of epochs before the first one granted on the present basis (`Broker.askLease`).
    package var trustedEpoch: UInt64
    /// The server that granted it (`BrokerState.serverID`).
    package var server: String
    /// How long ago that server first granted this lease; 0: just now. An owner whom only a former server knew, or
    /// deleted data, may not know yet that it is none.
    package var knownForMs: Int64

    /// - Parameters:
    ///   - serverEpoch: the first that this server granted.
    ///   - basisEpoch: the first that was granted on the present basis.
    package init(epoch: UInt64, serverEpoch: UInt64, basisEpoch: UInt64, server: String, knownForMs: Int64) {
        self.epoch = epoch
        self.trustedEpoch = max(serverEpoch, basisEpoch)
        self.server = server
        self.knownForMs = max(0, knownForMs)
    }
}

/// What who asks for a lease is told.
package enum LeaseAnswer: Sendable, Hashable {
    case granted(LeaseGrant)
    /// Another owner holds it for so long, unless that one renews it or gives it back.
    case held(forMs: Int)
    /// An epoch was granted that is not below the one asked for; ask with one above it.
    case outdated(newest: UInt64)

    package var grant: LeaseGrant? {
        if case .granted(let grant) = self { grant } else { nil }
    }

    package var heldForMs: Int? {
        if case .held(let forMs) = self { forMs } else { nil }
    }
}

/// Who holds a lease now.
package struct LeaseState: Sendable, Hashable {
    package var owner: String
    package var epoch: UInt64
    package var remainingMs: Int

    package init(owner: String, epoch: UInt64, remainingMs: Int) {
        self.owner = owner
        self.epoch = epoch
        self.remainingMs = remainingMs
    }
}

/// A node that announced itself and has not expired.
package struct NodeRecord: Sendable, Hashable {
    package var id: String
    package var payload: [UInt8]
    package var remainingMs: Int

    package init(id: String, payload: [UInt8], remainingMs: Int) {
        self.id = id
        self.payload = payload
        self.remainingMs = remainingMs
    }
}

/// What every node of a namespace must agree on.
package struct ClusterMeta: Sendable, Hashable {
    package var shardCount: Int
    package var formatVersion: Int
    /// Names this life of the broker's data; a new one means that everything before is lost.
    package var incarnation: String

    package init(shardCount: Int, formatVersion: Int, incarnation: String) {
        self.shardCount = shardCount
        self.formatVersion = formatVersion
        self.incarnation = incarnation
    }
}

/// What operators order stands in a book of its own for each kind, with its own generation.
package enum OrderBook: Sendable, Hashable, CaseIterable {
    /// Splits, moved shards, drained nodes.
    case cluster
    /// Users, tokens and API keys that are not let in any more.
    case revocations
}

/// What operators ordered of the cluster, field by field. What it means: `Sharding.Orders`.
package struct StoredOrders: Sendable {
    /// Moved on by every change; 0 when nothing was ever ordered.
    package var generation: UInt64
    /// The generation that set it, and the value.
    package var fields: [String: (version: UInt64, value: String)]

    package init(generation: UInt64 = 0, fields: [String: (version: UInt64, value: String)] = [:]) {
        self.generation = generation
        self.fields = fields
    }
}

/// One server behind a broker, as seen from here.
package struct BrokerServer: Sendable, Hashable {
    /// `redis://host:port`, never with a password.
    package var address: String
    package var connected: Bool
    package var id: String
    /// Why the last attempt to connect failed; empty while connected.
    package var lastConnectError: String

    package init(address: String, connected: Bool, id: String = "", lastConnectError: String = "") {
        self.address = address
        self.connected = connected
        self.id = id
        self.lastConnectError = lastConnectError
    }
}

/// Counters and gauges of a broker, for metrics and the admin page.
package struct BrokerState: Sendable, Hashable {
    package var connected = false
    /// Changes when another server process answers, or the same one after it has been a replica in between; empty
    /// before the first connection, and where several servers answer (`servers`).
    package var serverID = ""
    /// How often that happened since the first connection: each time, what the former server acknowledged last may
    /// be lost.
    package var serverChanges = 0
    /// The servers behind the broker.
    package var servers: [BrokerServer] = []
    /// Requests accepted and not yet answered, in flight ones included.
    package var queuedRequests = 0
    package var queuedBytes = 0
    package var inFlightRequests = 0
    /// Connections made after the first one, of commands and readers together.
    package var reconnects = 0
    package var bytesWritten = 0
    /// Requests that a caller sent itself, because the connection was idle.
    package var sentByCallers = 0
    package var requestsOverloaded = 0
    package var requestsUnknown = 0
    /// Why the last attempt to connect failed; empty while connected.
    package var lastConnectError = ""
    /// That was a wrong password, another kind of server, a certificate that is not trusted: no waiting helps.
    package var isMisconfigured = false

    package init() {}
}
