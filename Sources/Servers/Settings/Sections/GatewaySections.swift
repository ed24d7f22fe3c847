import HTTPServer
import RoleMachines
import Sessions

package struct GatewaySection: SettingSection {
    package static let doc = "Limits of sessions and subscriptions."
    package static let declared = GatewaySection()

    package let sessionsMax = Setting.int(
        "gateway.sessionsMax", 20_000, in: 1...1_000_000, "Sessions on this node; more are refused.")
    package let acceptPerSecond = Setting.int(
        "gateway.acceptPerSecond", Parts.admission.perSecond, in: 0...1_000_000,
        "New sessions per second on this node; more get a Retry-After. 0: no limit.")
    package let acceptBurst = Setting.int(
        "gateway.acceptBurst", Parts.admission.burst, in: 1...1_000_000,
        "New sessions accepted at once before that rate applies.")
    package let acceptPerAddressPerSecond = Setting.int(
        "gateway.acceptPerAddressPerSecond", Parts.quotas.startsPerAddress.perSecond, in: 0...1_000_000,
        "New sessions per second of one address on this node; more get a Retry-After. 0: no limit.")
    package let acceptPerAddressBurst = Setting.int(
        "gateway.acceptPerAddressBurst", Parts.quotas.startsPerAddress.burst, in: 1...1_000_000,
        "New sessions of one address accepted at once before that rate applies.")
    package let subscriptionsPerSessionMax = Setting.int(
        "gateway.subscriptionsPerSessionMax", Parts.session.operationsMax, in: 1...100_000,
        "Subscriptions of one session.")
    package let executesPerSessionMax = Setting.int(
        "gateway.executesPerSessionMax", Parts.session.executesMax, in: 1...100_000,
        "One-shot operations that one session runs at a time; more wait in order.")
    package let executesWaitingMax = Setting.int(
        "gateway.executesWaitingMax", Parts.session.executesWaitingMax, in: 0...100_000,
        "One-shot operations of one session that wait; more are refused.")
    package let waitsPerSessionMax = Setting.int(
        "gateway.waitsPerSessionMax", Parts.session.waitsMax, in: 1...10_000,
        "Waits of one session for mutations at a time; more are refused.")
    package let waitsMax = Setting.int(
        "gateway.waitsMax", Parts.interest.waitsMax, in: 1...1_000_000,
        "Waits of this node's sessions for mutations at a time; more are refused.")
    package let waitTimeoutMs = Setting.duration(
        "gateway.waitTimeoutMs", Parts.interest.waitTimeoutMs, in: 100...10 * minute,
        "Time after which a wait for a mutation fails.")
    package let messagesPerSecond = Setting.int(
        "gateway.messagesPerSecond", Parts.http.webSocketFramesPerSecond, in: 0...1_000_000,
        "Messages per second of one session, pings included; a faster client is read more slowly. 0: no limit.")
    package let messagesBurst = Setting.int(
        "gateway.messagesBurst", Parts.http.webSocketFramesBurst, in: 1...1_000_000,
        "Messages that a session may send at once before that rate applies; with twice as many a WebSocket is closed.")
    package let messagesPerAddressPerSecond = Setting.int(
        "gateway.messagesPerAddressPerSecond", Parts.quotas.messagesPerAddress.perSecond, in: 0...1_000_000,
        "Messages per second of all sessions of one address, also after reconnects; more are read later. 0: no limit.")
    package let messagesPerAddressBurst = Setting.int(
        "gateway.messagesPerAddressBurst", Parts.quotas.messagesPerAddress.burst, in: 1...1_000_000,
        "Messages that an address may send at once before that rate applies. Behind a proxy set http.trustedProxies.")
    package let sessionsPerUserMax = Setting.int(
        "gateway.sessionsPerUserMax", Parts.quotas.sessions.perUser, in: 0...1_000_000,
        "Sessions of one user on this node; 0: no limit.")
    package let sessionsPerAddressMax = Setting.int(
        "gateway.sessionsPerAddressMax", Parts.quotas.sessions.perAddress, in: 0...1_000_000,
        "Sessions of one address on this node; 0: no limit. Behind a proxy set http.trustedProxies first.")
    package let subscriptionsPerUserMax = Setting.int(
        "gateway.subscriptionsPerUserMax", Parts.quotas.subscriptions.perUser, in: 0...10_000_000,
        "Subscriptions of one user on this node; 0: no limit.")
    package let subscriptionsPerAddressMax = Setting.int(
        "gateway.subscriptionsPerAddressMax", Parts.quotas.subscriptions.perAddress, in: 0...10_000_000,
        "Subscriptions of one address on this node; 0: no limit.")
    package let liveQueriesPerAddressMax = Setting.int(
        "gateway.liveQueriesPerAddressMax", Parts.quotas.liveQueriesPerAddress, in: 0...10_000_000,
        "Distinct live queries of one address on this node; 0: no limit.")
    package let liveQueriesPerAddressPerSecond = Setting.int(
        "gateway.liveQueriesPerAddressPerSecond", Parts.quotas.liveQueryStartsPerAddress.perSecond, in: 0...1_000_000,
        "New live queries per second of one address on this node; more get a Retry-After. 0: no limit.")
    package let liveQueriesPerAddressBurst = Setting.int(
        "gateway.liveQueriesPerAddressBurst", Parts.quotas.liveQueryStartsPerAddress.burst, in: 1...1_000_000,
        "New live queries of one address accepted at once before that rate applies.")
    package let lingeringPerAddressMax = Setting.int(
        "gateway.lingeringPerAddressMax", Parts.quotas.lingeringPerAddress, in: 0...1_000_000,
        "Live queries of one address that wait for its clients (lingerMs) at a time; others end at once.")
    package let liveQueriesMax = Setting.int(
        "gateway.liveQueriesMax", Parts.interest.liveQueriesMax, in: 1...10_000_000,
        "Distinct live queries on this node; those that linger make room.")
    package let sessionBytesMax = Setting.bytes(
        "gateway.sessionBytesMax", Parts.session.bytesMax, in: kib...kib * mib,
        "Pending output past which a session is closed. Up to 1 MiB, also the limit of input during a token check.")
    package let resultBytesMax = Setting.bytes(
        "gateway.resultBytesMax", Parts.worker.resultBytesMax, in: kib...256 * mib, "Size of one result.")
    package let webSocketFrameBytesMax = Setting.bytes(
        "gateway.webSocketFrameBytesMax", Parts.http.webSocketFrameBytesMax, in: kib...64 * mib,
        "Size of a WebSocket message from a client.")
    package let initTimeoutMs = Setting.duration(
        "gateway.initTimeoutMs", Parts.session.initTimeoutMs, in: 10...10 * minute,
        "Time in which a session must be initialised.")
    package let pingIntervalMs = Setting.duration(
        "gateway.pingIntervalMs", Parts.http.webSocketPingIntervalMs, in: 100...hour,
        "Interval of pings to an open session.")
    package let pongTimeoutMs = Setting.duration(
        "gateway.pongTimeoutMs", Parts.http.webSocketPongTimeoutMs, in: 100...hour,
        "Time in which a ping must be answered.")
    package let keepAliveMs = Setting.duration(
        "gateway.keepAliveMs", Parts.session.keepAliveMs, in: 100...4 * minute,
        "Interval of a protocol's own keep-alives: ka messages, event-stream comments, empty multipart parts.")
    package let idleTimeoutMs = Setting.duration(
        "gateway.idleTimeoutMs", Parts.session.idleTimeoutMs, in: 0...24 * hour,
        "Time after which a session without subscriptions and requests is closed; 0: never.")
    package let rerunTimeoutMs = Setting.duration(
        "gateway.rerunTimeoutMs", Parts.session.rerunTimeoutMs, in: 100...10 * minute,
        "Time after which a client's request for a run (resume of SQL Connect) fails.")
    package let tokenGraceMs = Setting.duration(
        "gateway.tokenGraceMs", Parts.session.tokenGraceMs, in: 0...10 * minute,
        "Time for a new token after the end of one (SQL Connect, AppSync); then the connection is closed.")
    package let longPollMaxMs = Setting.duration(
        "gateway.longPollMaxMs", 60_000, in: 100...10 * minute, "Longest wait that a long-poll may request.")
    package let longPollKeptMs = Setting.duration(
        "gateway.longPollKeptMs", 2_000, in: 0...minute,
        "How long an answered long-poll keeps its subscription for the client's next poll on the connection. 0: off.")
    package let deltaBytesMax = Setting.bytes(
        "gateway.deltaBytesMax", 16 * mib, in: 0...16 * kib * mib,
        "Results and patches that each event loop keeps for clients that accept patches; 0: only whole results.")
    package let deltaResultBytesMax = Setting.bytes(
        "gateway.deltaResultBytesMax", 256 * kib, in: kib...64 * mib,
        "Size of a result past which no patch is computed.")
    package let lingerMs = Setting.duration(
        "gateway.lingerMs", Parts.interest.lingerMs, in: 0...hour,
        "How long a live query waits for a client that left without ending it.")
    package let announceRetryMs = Setting.duration(
        "gateway.announceRetryMs", Parts.interest.announceRetryMs, in: 10...10 * minute,
        "Pause before unanswered interest is announced again.")
    package let summaryMs = Setting.duration(
        "gateway.summaryMs", Parts.interest.summaryMs, in: 100...10 * minute,
        "Interval at which all interest is summarised.")
    package let invalidationsMax = Setting.int(
        "gateway.invalidationsMax", 1_000, in: 1...100_000,
        "Invalidations of clients' caches that the cluster keeps; clients that were away for longer drop everything.")
    package let invalidationsPollMs = Setting.duration(
        "gateway.invalidationsPollMs", 500, in: 20...minute,
        "Interval at which a gateway checks Redis for new invalidations.")
}

package struct APISection: SettingSection {
    package static let doc = "Queries and mutations."
    package static let declared = APISection()

    package let requestsInFlightMax = Setting.int(
        "api.requestsInFlightMax", 1024, in: 1...1_000_000, "Requests in flight; more get a Retry-After.")
    package let requestsPerUserMax = Setting.int(
        "api.requestsPerUserMax", Parts.quotas.requests.perUser, in: 0...1_000_000,
        "Requests in flight of one user; 0: no limit.")
    package let requestsPerAddressMax = Setting.int(
        "api.requestsPerAddressMax", Parts.quotas.requests.perAddress, in: 0...1_000_000,
        "Requests in flight of one address; 0: no limit.")
    package let queryBatchMax = Setting.int(
        "api.queryBatchMax", 32, in: 1...256,
        "Calls of one short query that run in one statement while many are in flight; 1: each runs alone.")
    package let idempotencyKeepMs = Setting.duration(
        "api.idempotencyKeepMs", Parts.keySweep.keepMs, in: 60_000...2_592_000_000,
        "Time for which the answer of a mutation with an idempotency key is kept, as a row in Postgres.")
    package let idempotencyRowsMax = Setting.int(
        "api.idempotencyRowsMax", Parts.keySweep.rowsMax, in: 1_000...100_000_000,
        "Kept answers; beyond that the oldest are removed before their time.")
    package let idempotencyAnswerBytesMax = Setting.bytes(
        "api.idempotencyAnswerBytesMax", 262_144, in: 0...16_777_216,
        "Size of an answer that is kept. A retry of a mutation with a larger one gets ALREADY_APPLIED.")
    package let idempotencyWaitMs = Setting.duration(
        "api.idempotencyWaitMs", 10_000, in: 0...600_000,
        "Time for which a retry waits while the first mutation with its key is under way.")
    package let idempotencySweepMs = Setting.duration(
        "api.idempotencySweepMs", Parts.keySweep.sweepMs, in: 100...86_400_000,
        "Interval of removing kept answers after their time.")
}
