import Testing

@testable import Broker

/// Which nodes of a Redis Cluster are asked for its slots, and which answer is trusted.
@Suite struct SlotMapChoiceTests {
    private typealias Endpoint = RedisConfiguration.Endpoint

    private func endpoint(_ host: String) -> Endpoint { .tcp(host: host, port: 1) }

    private func bytes(_ text: String) -> RedisValue { .bytes(Array(text.utf8)) }

    private func node(_ host: String) -> RedisValue { .array([bytes(host), .integer(1), bytes("id")]) }

    /// The reply to `CLUSTER SLOTS` where `hosts` share the slots evenly, each with the replica `r`.
    private func slots(_ hosts: String...) -> RedisValue {
        let share = SlotMap.slotCount / hosts.count
        return .array(
            hosts.enumerated().map { index, host in
                let (first, last) = (Int64(index * share), Int64((index + 1) * share - 1))
                return .array([.integer(first), .integer(last), node(host), node("r")])
            })
    }

    private var fine: RedisValue { bytes("cluster_enabled:1\r\ncluster_state:ok\r\n") }

    private func choice(_ hosts: RedisValue) -> SlotMapChoice {
        var choice = SlotMapChoice()
        _ = choice.heard(info: fine, slots: hosts, from: endpoint("a"))
        return choice
    }

    @Test func trustedAnswerReplacesTheSlotsAndClearsTheFailure() {
        var choice = SlotMapChoice()
        _ = choice.failed(endpoint("a"), .init(reason: "refused", isFinal: true))
        func news(_ slots: RedisValue) -> SlotMapChoice.News {
            choice.heard(info: fine, slots: slots, from: endpoint("a"))
        }
        #expect(news(slots("a", "b")) == .changed(isFailover: false))
        #expect(choice.slots.primaries == [endpoint("a"), endpoint("b")])
        #expect(choice.failure.reason.isEmpty && !choice.failure.isFinal)
        #expect(news(slots("a", "b")) == .unchanged)
        #expect(news(slots("a", "b", "c")) == .changed(isFailover: false))
        #expect(news(slots("a", "c")) == .changed(isFailover: true))
    }

    @Test func nodeThatIsDownOrCutOffIsNotTrusted() {
        let known = choice(slots("a"))
        let cases: [(info: RedisValue, slots: RedisValue, reason: String)] = [
            (bytes("cluster_state:fail"), slots("b"), "cluster_state is not ok"),
            (.null, slots("b"), "cluster_state is not ok"),
            (fine, .null, "malformed reply to CLUSTER SLOTS"),
            (fine, .array([]), "malformed reply to CLUSTER SLOTS"),
        ]
        for (info, slots, reason) in cases {
            var choice = known
            let news = choice.heard(info: info, slots: slots, from: endpoint("b"))
            #expect(news == .refused(reason: reason, isNew: true))
            #expect(choice.slots == known.slots && choice.failure.reason == "\(endpoint("b")): \(reason)")
        }
    }

    @Test func reasonIsNewOncePerNode() {
        var choice = SlotMapChoice()
        #expect(choice.failure.reason == "not queried yet")
        let failure = RedisConnection.Failure(reason: "refused", isFinal: true)
        for isNew in [true, false] {
            #expect(choice.failed(endpoint("a"), failure) == .refused(reason: "refused", isNew: isNew))
        }
        #expect(choice.failure.isFinal)
        #expect(choice.failed(endpoint("b"), failure) == .refused(reason: "refused", isNew: true))
    }

    @Test func primariesAreAskedBeforeReplicasAndSeedsEachOnce() {
        let seeds = [endpoint("s"), endpoint("b"), endpoint("s")]
        #expect(SlotMapChoice().candidates(seeds: seeds) == [endpoint("s"), endpoint("b")])
        #expect(choice(slots("a", "b")).candidates(seeds: seeds) == ["a", "b", "r", "s"].map(endpoint))
    }

    @Test func redirectionIsAChangeOnce() {
        var choice = choice(slots("a"))
        let changes = (1...2).map { _ in choice.moved(7, to: endpoint("b")) }
        #expect(changes == [true, false] && choice.slots.owner(of: 7) == endpoint("b"))
    }

    @Test func pipelineOfANodeWithoutSlotsIsRetiredWhenUnusedOrNotConnected() {
        let choice = choice(slots("a"))
        let (idleNs, later): (UInt64, UInt64) = (5_000_000_000, 5_000_000_001)
        let cases: [(String, isConnected: Bool, nowNs: UInt64, retires: Bool)] = [
            ("a", false, later, false), ("b", false, 0, true), ("b", true, idleNs, false), ("b", true, later, true),
        ]
        for (host, isConnected, nowNs, retires) in cases {
            #expect(
                choice.retires(endpoint(host), isConnected: isConnected, usedNs: 0, nowNs: nowNs) == retires,
                "\((host, isConnected, nowNs))")
        }
    }
}
