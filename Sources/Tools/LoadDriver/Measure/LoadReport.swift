/// The results of a load run.
package struct LoadReport: Sendable, Hashable {
    package var scenario: String
    package var seed: UInt64
    package var gateways: [String]
    package var transports: [String]
    package var durationMs: Int64
    /// Whether the user ended the run early.
    package var wasStopped = false

    package var subscribers: Int
    /// Connections opened, including reconnects.
    package var connects: Int
    /// Subscribers that had a result when the load began.
    package var subscribedAtStart: Int
    package var subscribed: Int
    package var connectingMs: Int64
    /// Time from opening the connection to the first result.
    package var firstResult: LatencySummary
    /// Time from losing a connection to the next result on another one. A stream or poll resumed without a new result
    /// has none.
    package var returned: LatencySummary
    /// Connections that ended unexpectedly.
    package var dropped: Int

    /// Results that arrived during the measurement; `deliveryLatency` has the times of their markers.
    package var delivered: Int
    package var latencyFrom: Scenario.LatencyStart
    package var deliveryLatency: LatencySummary
    /// Deliveries that arrived before their mutation's response; they count as the minimum time.
    package var deliveredBeforeAnswer: Int

    /// Mutations sent after the warm-up.
    package var mutationsSent: Int
    package var mutationsAnswered: Int
    package var mutationsFailed: Int
    /// Time from when the mutation was due to its response.
    package var mutationLatency: LatencySummary

    package var errors: ErrorCounts
    package var verdict: Verdict

    /// Whether the run passed. One in which every mutation failed proves nothing, even if all subscribers agree with
    /// the database.
    package var hasPassed: Bool { verdict.isConverged && !hasNoMutation }
    package var hasNoMutation: Bool { mutationsSent > 0 && mutationsAnswered == 0 }

    package var deliveredPerSecond: Double { perSecond(delivered) }
    package var mutationsPerSecond: Double { perSecond(mutationsAnswered) }

    private func perSecond(_ count: Int) -> Double {
        durationMs > 0 ? Double(count) * 1_000 / Double(durationMs) : 0
    }

    package init(
        scenario: String, seed: UInt64, gateways: [String], transports: [String], durationMs: Int64, subscribers: Int,
        latencyFrom: Scenario.LatencyStart, verdict: Verdict
    ) {
        self.scenario = scenario
        self.seed = seed
        self.gateways = gateways
        self.transports = transports
        self.durationMs = durationMs
        self.subscribers = subscribers
        self.latencyFrom = latencyFrom
        self.verdict = verdict
        connects = 0
        subscribedAtStart = 0
        subscribed = 0
        connectingMs = 0
        firstResult = LatencySummary()
        returned = LatencySummary()
        dropped = 0
        delivered = 0
        deliveryLatency = LatencySummary()
        deliveredBeforeAnswer = 0
        mutationsSent = 0
        mutationsAnswered = 0
        mutationsFailed = 0
        mutationLatency = LatencySummary()
        errors = ErrorCounts()
    }
}

/// The progress of a running load.
package struct LoadProgress: Sendable, Hashable {
    package enum Phase: String, Sendable, Hashable {
        case connecting, warmingUp = "warming up", measuring, settling
    }

    package var phase: Phase
    package var elapsedMs: Int64
    package var subscribers: Int
    package var subscribed: Int
    package var open: Int
    /// The rate since the previous progress.
    package var deliveredPerSecond: Double
    package var mutationsAnswered: Int
    package var mutationsInFlight: Int
    package var errors: Int
    package var dropped: Int

    /// The progress as one line of text.
    package var text: String {
        var parts = [
            "\(phase.rawValue) \(elapsedMs / 1_000) s", "\(subscribed)/\(subscribers) subscribed",
            "\(ReportFormat.text(deliveredPerSecond, decimals: 0)) delivered/s", "\(mutationsAnswered) mutations",
        ]
        if mutationsInFlight > 0 { parts.append("\(mutationsInFlight) in flight") }
        if open < subscribed { parts.append("\(subscribed - open) without connection") }
        if errors > 0 { parts.append("\(errors) errors") }
        if dropped > 0 { parts.append("\(dropped) dropped") }
        return parts.joined(separator: "  ")
    }
}
