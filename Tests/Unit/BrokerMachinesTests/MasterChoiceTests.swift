import Testing

@testable import Broker

/// Which of the sentinels' reports is believed, and when they are queried.
@Suite("Master choice")
struct MasterChoiceTests {
    private typealias Report = SentinelRound.Report

    private func report(_ epoch: Int, _ host: String) -> Report {
        Report(epoch: epoch, master: .tcp(host: host, port: 6379))
    }

    /// A round of three sentinels; nil: one does not answer.
    private func round(_ reports: Report?...) -> SentinelRound {
        var round = SentinelRound(sentinelCount: 3)
        for (index, report) in reports.enumerated() {
            if let report { round.heard(report) } else { round.failed(.init(reason: "s\(index)", isFinal: true)) }
        }
        return round
    }

    @Test("a round's best report has the highest epoch, the first among equals; a majority is more than half")
    func rounds() {
        let cases: [(SentinelRound, best: Report?, isMajority: Bool)] = [
            (round(nil, nil, nil), nil, false), (round(report(1, "a"), nil, nil), report(1, "a"), false),
            (round(nil, report(1, "a"), report(2, "b")), report(2, "b"), true),
            (round(report(2, "b"), report(1, "a"), nil), report(2, "b"), true),
            (round(report(1, "a"), report(1, "b"), report(0, "c")), report(1, "a"), true),
        ]
        for (round, best, isMajority) in cases {
            #expect(round.best == best && round.isMajority == isMajority, "\(round)")
        }
        var two = SentinelRound(sentinelCount: 2)
        two.heard(report(1, "a"))
        #expect(!two.isMajority)
    }

    @Test("a lower epoch is believed from a majority only")
    func epochs() {
        let known = report(5, "a")
        let cases: [(SentinelRound, believed: Report?)] = [
            (round(report(6, "b"), nil, nil), report(6, "b")), (round(report(5, "b"), nil, nil), report(5, "b")),
            (round(report(4, "b"), nil, nil), nil),
            (round(report(0, "b"), report(0, "b"), nil), report(0, "b")), (round(known, known, known), nil),
            (round(report(9, "a"), nil, nil), nil), (round(known, report(4, "b"), nil), nil),
        ]
        for (round, believed) in cases {
            var choice = MasterChoice()
            #expect(choice.learn(self.round(known, nil, nil)) == .changed(known))
            #expect(choice.learn(round) == (believed.map { .changed($0) } ?? .unchanged), "\(round)")
            #expect(choice.master == (believed ?? known).master)
        }
        // The epoch of a report that names the same master does not count.
        var choice = MasterChoice()
        _ = choice.learn(round(known, nil, nil))
        _ = choice.learn(round(report(9, "a"), nil, nil))
        #expect(choice.learn(round(report(6, "b"), nil, nil)) == .changed(report(6, "b")))
    }

    @Test("silent sentinels leave the master; the reason is news once")
    func silence() {
        var choice = MasterChoice()
        #expect(choice.master == nil && choice.failure.reason == "no sentinel has been queried yet")
        for isNew in [true, false] { #expect(choice.learn(round(nil, nil, nil)) == .silent(isNew: isNew)) }
        #expect(choice.failure.reason == "s2" && choice.failure.isFinal)
        #expect(choice.learn(round(nil)) == .silent(isNew: true))
        #expect(choice.learn(round(nil, report(1, "a"))) == .changed(report(1, "a")))
        #expect(choice.failure.reason.isEmpty)
        #expect(choice.learn(round(nil)) == .silent(isNew: true))
        #expect(choice.master == report(1, "a").master)
    }

    @Test("steps of the wait: after a round hints wait for its pause, otherwise they end the period")
    func steps() {
        let ms: UInt64 = 1_000_000
        let cases: [(Bool, isHinted: Bool, isAnnounced: Bool, atMs: UInt64, TopologySchedule.Step)] = [
            (true, false, false, 9, .wait), (true, true, false, 9, .wait), (true, false, true, 0, .query),
            (true, false, false, 10, .proceed), (true, true, false, 10, .proceed), (true, true, true, 10, .query),
            (false, false, false, 999, .wait), (false, true, false, 0, .proceed), (false, false, true, 0, .query),
            (false, false, false, 1_000, .query), (false, true, false, 1_000, .query),
        ]
        for (afterRound, isHinted, isAnnounced, atMs, step) in cases {
            var schedule = TopologySchedule(pauseMinMs: 10, periodMs: 1_000)
            schedule.wait(afterRound: afterRound, nowNs: 0) { $0.upperBound }
            let found = schedule.step(isHinted: isHinted, isAnnounced: isAnnounced, nowNs: atMs * ms)
            #expect(found == step, "\((afterRound, isHinted, isAnnounced, atMs))")
        }
    }

    @Test("pauses grow to half a second while rounds bring nothing new")
    func pauses() {
        var schedule = TopologySchedule(pauseMinMs: 200, periodMs: 1_000)
        for waitMs: UInt64 in [200, 400, 500, 500] {
            schedule.wait(afterRound: true, nowNs: 7) { $0.upperBound }
            #expect(schedule.untilNs == 7 + waitMs * 1_000_000)
        }
        schedule.wait(afterRound: false, nowNs: 7) { $0.upperBound }
        #expect(schedule.untilNs == 7 + 1_000_000_000)
        schedule.changed()
        schedule.wait(afterRound: true, nowNs: 7) { $0.upperBound }
        #expect(schedule.untilNs == 7 + 200_000_000)
    }
}
