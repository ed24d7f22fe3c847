package import FreshetTypes
package import JSON

/// A subscriber of the link: one live query.
package struct FeedID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let number: Int
    package init(_ number: Int) { self.number = number }
    package var description: String { String(number) }
    package static func < (left: FeedID, right: FeedID) -> Bool { left.number < right.number }
}

/// Identifies a wait until feeds show what was committed.
package typealias WaitID = Int

/// The live query of a feed.
package struct FeedRequest: Hashable, Sendable {
    package let connector: String
    package let operation: String
    package let variables: JSONObject

    package init(connector: String, operation: String, variables: JSONObject) {
        self.connector = connector
        self.operation = operation
        self.variables = variables
    }
}

/// A result that the client holds, and the server's name for it.
package struct HeldResult: Hashable, Sendable {
    /// The resume tag (docs/clients/deltas.md).
    package let tag: String
    /// The value of `data`.
    package let data: JSONValue

    package init(tag: String, data: JSONValue) {
        self.tag = tag
        self.data = data
    }
}

/// How a link carries its feeds. Where the network blocks one way, the next is tried.
package enum LinkWay: Int, Hashable, Sendable, CaseIterable {
    /// One WebSocket for all feeds.
    case webSocket
    /// An event stream for each feed (graphql-sse).
    case eventStreams
    /// A long-poll for each feed.
    case longPolls

    /// The way to try after this one; after the last, the first again.
    var next: LinkWay { LinkWay(rawValue: rawValue + 1) ?? .webSocket }
}

/// How a connection or a request ended without an answer of the server.
package enum LinkEnd: Hashable, Sendable {
    /// There was no connection.
    case unreachable
    /// Something answered, with this HTTP status.
    case refused(status: Int)
    /// The connection ended.
    case lost

    /// Whether it looks like a network that does not let this way through. A server that is busy answers with 429 or
    /// 503.
    var isBlock: Bool {
        switch self {
        case .unreachable: false
        case .refused(let status): status != 429 && status != 503
        case .lost: true
        }
    }
}

/// A request of a feed that is followed without a WebSocket.
package struct LinkRequest: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        /// The response with status 200 stays open: report its parts as they arrive.
        case stream
        case poll
    }

    package struct Header: Hashable, Sendable {
        /// The name in lower case.
        package let name: String
        package let value: String
    }

    /// Up to where the client knows the history of invalidations; in a response, what to drop.
    package static let invalidationsHeader = "freshet-invalidations"

    package let form: Form
    package let method: String
    /// Path and query, percent-encoded.
    package let path: String
    package let headers: [Header]
    package let body: [UInt8]
    /// The limit for the whole response, or for the head of a stream.
    package let timeoutMs: Int64
}

/// The response to a `LinkRequest`; of a stream with status 200, its end.
package struct LinkResponse: Hashable, Sendable {
    package let status: Int
    /// The header `ETag`.
    package let tag: String?
    /// The header `LinkRequest.invalidationsHeader`.
    package let invalidations: String?
    package let retryAfterMs: Int64?
    package let body: [UInt8]

    package init(
        status: Int, tag: String? = nil, invalidations: String? = nil, retryAfterMs: Int64? = nil, body: [UInt8] = []
    ) {
        self.status = status
        self.tag = tag
        self.invalidations = invalidations
        self.retryAfterMs = retryAfterMs
        self.body = body
    }
}

/// Times and bounds of a link, in milliseconds.
package struct LinkLimits: Sendable, Hashable {
    /// The first and the longest delay before another attempt.
    package var backoffMinMs: Int64
    package var backoffMaxMs: Int64
    /// The longest wish of a server for a delay that is heeded.
    package var retryAfterMaxMs: Int64
    /// How long connecting and greeting may take, each.
    package var stepMs: Int64
    /// A server that is silent for so long is sent a ping; after the same time again the link is given up.
    package var silenceMs: Int64
    /// How long a link without feeds stays open.
    package var idleMs: Int64
    /// A renewal for which there is no newer token yet is tried again after this time.
    package var renewalRetryMs: Int64
    /// How many attempts in a row that look blocked by the network make the link use the next way.
    package var blockedMax: Int
    /// How long after a fall-back a WebSocket is tried for the first time, and then again. Soon at first, because a
    /// proxy whose server was away for a moment looks like a block.
    package var upgradeFirstMs: Int64
    package var upgradeMs: Int64
    /// How many feeds are followed at the same time without a WebSocket, each with a connection of its own.
    package var exchangesMax: Int
    /// How long a long-poll waits, and the shortest time from one to the next.
    package var pollWaitMs: Int64
    package var pollMinMs: Int64
    /// The bytes of one event of a stream.
    package var eventBytesMax: Int
    /// How long a wait for a mutation may take; longer than the server's own limit (`gateway.waitTimeoutMs`).
    package var waitMs: Int64
    /// How many waits there may be, and for how many of them the server is asked at a time
    /// (`gateway.waitsPerSessionMax`).
    package var waitsMax: Int
    package var waitsAskedMax: Int

    package init(
        backoffMinMs: Int64 = 250, backoffMaxMs: Int64 = 30_000, retryAfterMaxMs: Int64 = 300_000,
        stepMs: Int64 = 10_000, silenceMs: Int64 = 25_000, idleMs: Int64 = 10_000, renewalRetryMs: Int64 = 5_000,
        blockedMax: Int = 2, upgradeFirstMs: Int64 = 15_000, upgradeMs: Int64 = 300_000, exchangesMax: Int = 100,
        pollWaitMs: Int64 = 25_000,
        pollMinMs: Int64 = 250, eventBytesMax: Int = 64 << 20, waitMs: Int64 = 15_000, waitsMax: Int = 1_000,
        waitsAskedMax: Int = 16
    ) {
        self.backoffMinMs = backoffMinMs
        self.backoffMaxMs = backoffMaxMs
        self.retryAfterMaxMs = retryAfterMaxMs
        self.stepMs = stepMs
        self.silenceMs = silenceMs
        self.idleMs = idleMs
        self.renewalRetryMs = renewalRetryMs
        self.blockedMax = blockedMax
        self.upgradeFirstMs = upgradeFirstMs
        self.upgradeMs = upgradeMs
        self.exchangesMax = exchangesMax
        self.pollWaitMs = pollWaitMs
        self.pollMinMs = pollMinMs
        self.eventBytesMax = eventBytesMax
        self.waitMs = waitMs
        self.waitsMax = waitsMax
        self.waitsAskedMax = waitsAskedMax
    }
}

/// The parts of the cache that the server says to drop.
package struct Invalidation: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        /// A row, by its id.
        case entity(String)
        /// The results of an operation, `CONNECTOR/OPERATION`.
        case operation(String)
        case connector(String)

        /// Returns nil for a form of a later version.
        init?(_ json: JSONValue) {
            if let id = json["entity"]?.stringValue {
                self = .entity(id)
            } else if let operation = json["operation"]?.stringValue {
                self = .operation(operation)
            } else if let connector = json["connector"]?.stringValue {
                self = .connector(connector)
            } else {
                return nil
            }
        }
    }

    /// Up to where the client then knows the history of invalidations.
    package let position: String
    /// Nil: everything.
    package let subjects: [Subject]?

    package init(position: String, subjects: [Subject]?) {
        self.position = position
        self.subjects = subjects
    }
}

/// The effects that the performer of a `LinkMachine` has.
package enum LinkAction: Hashable, Sendable {
    /// Ask the app for its token and report it with `tokenReady` or `tokenFailed`.
    case fetchToken
    /// Open a WebSocket and report under this number.
    case open(link: Int)
    case send(link: Int, [UInt8])
    /// Close it; what it reports later is ignored.
    case close(link: Int, code: UInt16)
    /// Send a request and report under this id with `streamed`, `answered` or `failed`.
    case request(exchange: String, LinkRequest)
    /// Give a request up; what it reports later is ignored.
    case cancel(exchange: String)
    /// The server sent a result, the value of `data`, or says that it is unchanged. The tag names it, if the server
    /// sends tags.
    case result(FeedID, JSONValue, [ResponseError], tag: String?)
    /// A refresh failed; the feed goes on, its last result is no longer confirmed.
    case failed(FeedID, FreshetError)
    /// The feed has ended for good.
    case ended(FeedID, FreshetError)
    /// Drop this from the cache, keep the position, and call `discard` for the feeds that it concerns.
    case invalidated(Invalidation)
    /// A wait is over, after the results before it; with an error if they may be missing.
    case waited(WaitID, FreshetError?)
    /// The link was lost: no feed is confirmed until its next result.
    case lost(FreshetError)
    case status(LinkStatus)
}

/// The delays between attempts: exponential with full jitter, at least the server's wish.
struct ReconnectPace: Sendable {
    private var random: SplitMix64
    private(set) var failures = 0

    init(seed: UInt64) { random = SplitMix64(state: seed) }

    mutating func succeeded() { failures = 0 }

    mutating func delayMs(_ limits: LinkLimits, retryAfterMs: Int64?) -> Int64 {
        let ceiling = min(limits.backoffMaxMs, limits.backoffMinMs << Int64(min(failures, 20)))
        failures += 1
        let delay = Int64.random(in: ceiling / 2...max(ceiling / 2, ceiling), using: &random)
        guard let retryAfterMs, retryAfterMs > 0 else { return delay }
        // Whole seconds: clients with the same wish spread over the following one.
        return max(delay, min(retryAfterMs, limits.retryAfterMaxMs) + Int64.random(in: 0..<1_000, using: &random))
    }
}

/// Sebastiano Vigna's SplitMix64, for jitter.
struct SplitMix64: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
