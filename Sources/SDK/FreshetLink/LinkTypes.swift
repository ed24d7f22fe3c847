package import FreshetTypes
package import JSON

/// A subscriber of the link: one live query.
package struct FeedID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let number: Int
    package init(_ number: Int) { self.number = number }
    package var description: String { String(number) }
    package static func < (left: FeedID, right: FeedID) -> Bool { left.number < right.number }
}

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

    package init(
        backoffMinMs: Int64 = 250, backoffMaxMs: Int64 = 30_000, retryAfterMaxMs: Int64 = 300_000,
        stepMs: Int64 = 10_000, silenceMs: Int64 = 25_000, idleMs: Int64 = 10_000, renewalRetryMs: Int64 = 5_000
    ) {
        self.backoffMinMs = backoffMinMs
        self.backoffMaxMs = backoffMaxMs
        self.retryAfterMaxMs = retryAfterMaxMs
        self.stepMs = stepMs
        self.silenceMs = silenceMs
        self.idleMs = idleMs
        self.renewalRetryMs = renewalRetryMs
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
    /// The server sent a result: the value of `data`.
    case result(FeedID, JSONValue, [ResponseError])
    /// A refresh failed; the feed goes on, its last result is no longer confirmed.
    case failed(FeedID, FreshetError)
    /// The feed has ended for good.
    case ended(FeedID, FreshetError)
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
