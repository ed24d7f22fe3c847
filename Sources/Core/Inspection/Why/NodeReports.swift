package import JSON

/// A live query as the owner of its shard knows it. Times are milliseconds since 1970; 0 means never.
package struct OwnerReport: Sendable, Hashable {
    package struct Subscriber: Sendable, Hashable {
        package var gateway: String
        package var digest: String?
        package var awaitsAnswer: Bool

        package init(gateway: String, digest: String?, awaitsAnswer: Bool) {
            self.gateway = gateway
            self.digest = digest
            self.awaitsAnswer = awaitsAnswer
        }
    }

    package var node = ""
    package var shard: Int
    package var epoch: UInt64
    package var sinceMs: Int64
    /// `idle`, `waiting`, `queued`, `paced`, `awaitingReplay` or `running`.
    package var phase: String
    package var runningForMs: Int64
    package var runs: UInt64
    package var failures: Int
    package var lastError: String?
    /// The servers beside Postgres that a run calls.
    package var waitsFor: [String]
    package var digest: String?
    package var position: String?
    package var lastTriggerAtMs: Int64
    package var lastRunAtMs: Int64
    package var lastRunMs: Int64
    package var everyMs: Int64?
    package var lastEventID: String
    package var subscribers: [Subscriber]

    package init(
        shard: Int, epoch: UInt64, sinceMs: Int64, phase: String, runningForMs: Int64, runs: UInt64, failures: Int,
        lastError: String?, waitsFor: [String], digest: String?, position: String?, lastTriggerAtMs: Int64,
        lastRunAtMs: Int64, lastRunMs: Int64, everyMs: Int64?, lastEventID: String, subscribers: [Subscriber]
    ) {
        self.shard = shard
        self.epoch = epoch
        self.sinceMs = sinceMs
        self.phase = phase
        self.runningForMs = runningForMs
        self.runs = runs
        self.failures = failures
        self.lastError = lastError
        self.waitsFor = waitsFor
        self.digest = digest
        self.position = position
        self.lastTriggerAtMs = lastTriggerAtMs
        self.lastRunAtMs = lastRunAtMs
        self.lastRunMs = lastRunMs
        self.everyMs = everyMs
        self.lastEventID = lastEventID
        self.subscribers = subscribers
    }

    /// Whether a run is due or in flight.
    package var isPending: Bool { phase != "idle" }

    package var json: JSONValue {
        var object: JSONObject = [
            "node": .string(node), "shard": .int(Int64(shard)), "epoch": .int(Int64(clamping: epoch)),
            "sinceMs": .int(sinceMs), "phase": .string(phase), "runningForMs": .int(runningForMs),
            "runs": .int(Int64(clamping: runs)), "failures": .int(Int64(failures)),
            "waitsFor": .array(waitsFor.map(JSONValue.string)), "lastTriggerAtMs": .int(lastTriggerAtMs),
            "lastRunAtMs": .int(lastRunAtMs), "lastRunMs": .int(lastRunMs), "lastEventID": .string(lastEventID),
            "subscribers": .array(
                subscribers.map { subscriber in
                    var row: JSONObject = ["gateway": .string(subscriber.gateway)]
                    row["digest"] = subscriber.digest.map(JSONValue.string)
                    row["awaitsAnswer"] = .bool(subscriber.awaitsAnswer)
                    return .object(row)
                }),
        ]
        object["lastError"] = lastError.map(JSONValue.string)
        object["digest"] = digest.map(JSONValue.string)
        object["position"] = position.map(JSONValue.string)
        object["everyMs"] = everyMs.map(JSONValue.int)
        return .object(object)
    }

    package init(json: JSONValue) {
        self.init(
            shard: Int(json.int("shard")), epoch: UInt64(clamping: json.int("epoch")), sinceMs: json.int("sinceMs"),
            phase: json.string("phase"), runningForMs: json.int("runningForMs"),
            runs: UInt64(clamping: json.int("runs")), failures: Int(json.int("failures")),
            lastError: json.optionalString("lastError"), waitsFor: json.strings("waitsFor"),
            digest: json.optionalString("digest"), position: json.optionalString("position"),
            lastTriggerAtMs: json.int("lastTriggerAtMs"), lastRunAtMs: json.int("lastRunAtMs"),
            lastRunMs: json.int("lastRunMs"), everyMs: json.optionalInt("everyMs"),
            lastEventID: json.string("lastEventID"),
            subscribers: json.array("subscribers").map { row in
                Subscriber(
                    gateway: row.string("gateway"), digest: row.optionalString("digest"),
                    awaitsAnswer: row.bool("awaitsAnswer"))
            })
        node = json.string("node")
    }
}

/// A session's subscription of a live query.
package struct SessionReport: Sendable, Hashable {
    /// `NODE/ID`
    package var session: String
    package var protocolName: String
    package var peer: String
    /// Empty if signed out.
    package var uid: String
    package var sinceMs: Int64
    /// The project version that the session began with.
    package var version: String
    /// The client's name for the subscription; empty where there is one only.
    package var subscription: String
    package var key: String
    /// The result that the client was last sent.
    package var digest: String?
    package var position: String?
    /// Bytes that the client has yet to read.
    package var pendingBytes: Int
    /// Results that wait until it reads.
    package var queuedResults: Int
    /// Negative: the token has expired; nil: it does not expire.
    package var tokenExpiresInMs: Int64?
    /// Whether the subscription waits for a new token.
    package var isSuspended: Bool

    package init(
        session: String, protocolName: String, peer: String, uid: String, sinceMs: Int64, version: String,
        subscription: String, key: String, digest: String?, position: String?, pendingBytes: Int, queuedResults: Int,
        tokenExpiresInMs: Int64?, isSuspended: Bool
    ) {
        self.session = session
        self.protocolName = protocolName
        self.peer = peer
        self.uid = uid
        self.sinceMs = sinceMs
        self.version = version
        self.subscription = subscription
        self.key = key
        self.digest = digest
        self.position = position
        self.pendingBytes = pendingBytes
        self.queuedResults = queuedResults
        self.tokenExpiresInMs = tokenExpiresInMs
        self.isSuspended = isSuspended
    }

    /// Whether the client does not read what it was sent, so that the buffers of both sides are full.
    package var isStalled: Bool { pendingBytes > 0 }

    package var json: JSONValue {
        var object: JSONObject = [
            "session": .string(session), "protocol": .string(protocolName), "peer": .string(peer),
            "uid": .string(uid), "sinceMs": .int(sinceMs), "version": .string(version),
            "subscription": .string(subscription), "key": .string(key), "pendingBytes": .int(Int64(pendingBytes)),
            "queuedResults": .int(Int64(queuedResults)), "isStalled": .bool(isStalled),
            "isSuspended": .bool(isSuspended),
        ]
        object["digest"] = digest.map(JSONValue.string)
        object["position"] = position.map(JSONValue.string)
        object["tokenExpiresInMs"] = tokenExpiresInMs.map(JSONValue.int)
        return .object(object)
    }

    package init(json: JSONValue) {
        self.init(
            session: json.string("session"), protocolName: json.string("protocol"), peer: json.string("peer"),
            uid: json.string("uid"), sinceMs: json.int("sinceMs"), version: json.string("version"),
            subscription: json.string("subscription"), key: json.string("key"),
            digest: json.optionalString("digest"), position: json.optionalString("position"),
            pendingBytes: Int(json.int("pendingBytes")), queuedResults: Int(json.int("queuedResults")),
            tokenExpiresInMs: json.optionalInt("tokenExpiresInMs"), isSuspended: json.bool("isSuspended"))
    }
}

/// A live query on a gateway: the result held, and the sessions.
package struct GatewayReport: Sendable, Hashable {
    package var node: String
    package var isDraining: Bool
    package var digest: String?
    package var position: String?
    package var bytes: Int
    package var isAwaitingOwner: Bool
    /// The time for which it is kept without subscribers; 0 with subscribers.
    package var lingersMs: Int64
    package var sessions: [SessionReport]
    /// The age of the oldest marker that the gateway lacks of the shard, if that is late; 0 otherwise.
    package var markerLateMs: Int64

    package init(
        node: String, isDraining: Bool, digest: String?, position: String?, bytes: Int, isAwaitingOwner: Bool,
        lingersMs: Int64, sessions: [SessionReport], markerLateMs: Int64 = 0
    ) {
        self.markerLateMs = markerLateMs
        self.node = node
        self.isDraining = isDraining
        self.digest = digest
        self.position = position
        self.bytes = bytes
        self.isAwaitingOwner = isAwaitingOwner
        self.lingersMs = lingersMs
        self.sessions = sessions
    }

    /// - Parameter truth: the digest of what the database answers now; nil if that is not known.
    package func holds(_ truth: String?) -> String {
        guard let digest else { return "nothing" }
        guard let truth else { return "unknown" }
        return digest == truth ? "sameAsDatabase" : "older"
    }

    package func json(truth: String? = nil) -> JSONValue {
        var object: JSONObject = ["node": .string(node), "isDraining": .bool(isDraining)]
        object["digest"] = digest.map(JSONValue.string)
        object["position"] = position.map(JSONValue.string)
        object["bytes"] = .int(Int64(bytes))
        object["isAwaitingOwner"] = .bool(isAwaitingOwner)
        object["holds"] = .string(holds(truth))
        object["lingersMs"] = .int(lingersMs)
        object["markerLateMs"] = .int(markerLateMs)
        object["sessions"] = .array(sessions.map(\.json))
        return .object(object)
    }

    package init(json: JSONValue) {
        self.init(
            node: json.string("node"), isDraining: json.bool("isDraining"), digest: json.optionalString("digest"),
            position: json.optionalString("position"), bytes: Int(json.int("bytes")),
            isAwaitingOwner: json.bool("isAwaitingOwner"), lingersMs: json.int("lingersMs"),
            sessions: json.array("sessions").map(SessionReport.init), markerLateMs: json.int("markerLateMs"))
    }
}

/// The end of a session's subscription, as it was recorded.
package struct EndRecord: Sendable, Hashable {
    package var session: String
    package var uid: String
    /// `token_expired`, `user_revoked`, `auth_refused`, `client_stalled`, `drained`, `left`
    package var reason: String
    package var atMs: Int64

    package init(session: String, uid: String, reason: String, atMs: Int64) {
        self.session = session
        self.uid = uid
        self.reason = reason
        self.atMs = atMs
    }

    package var json: JSONValue {
        ["session": .string(session), "uid": .string(uid), "reason": .string(reason), "atMs": .int(atMs)]
    }

    package init(json: JSONValue) {
        self.init(
            session: json.string("session"), uid: json.string("uid"), reason: json.string("reason"),
            atMs: json.int("atMs"))
    }
}
