import Testing

@testable import Postgres

@Suite struct ReplicaChoiceTests {
    @Test(
        arguments: [
            ([true], [0, 0]), ([true, true], [1, 0, 1]), ([true, true, true], [1, 2, 0, 1]),
            ([false, true], [1, 1]), ([true, false], [0, 0]), ([true, false, true], [2, 0, 2, 0]),
            ([], [nil]), ([false, false], [nil, nil]),
        ] as [([Bool], [Int?])])
    func connectedReplicasTakeTurns(_ isConnected: [Bool], _ chosen: [Int?]) {
        var choice = ReplicaChoice()
        let indices = chosen.map { _ in choice.next(isConnected) }
        #expect(indices == chosen)
    }

    @Test func aTurnWithoutReplicasDoesNotCount() {
        var choice = ReplicaChoice()
        let chosen = [[true, true], [false, false], [true, true]].map { choice.next($0) }
        #expect(chosen == [1, nil, 0])
    }

    @Test(
        arguments: [
            ("0/1A", "00000001", 1), ("0/1A", "0000000B", 11), ("0/1A", "x", nil), ("0/1A", nil, nil), (nil, "1", nil),
        ] as [(String?, String?, Int?)])
    func aTargetHasBothParts(_ lsn: String?, _ text: String?, _ timeline: Int?) {
        let target = ReplayTarget(lsn: lsn, timeline: text)
        #expect(target?.timeline == timeline && target?.lsn == (timeline == nil ? nil : lsn))
    }

    @Test(
        arguments: [
            (true, true, false, .answer), (true, true, true, .answer),
            // The replica caught up during the pauses, so the statement runs even at the end of the wait.
            (true, false, false, .checkAndRun), (true, false, true, .checkAndRun),
            // What ran on a replica that lags is dropped.
            (false, true, false, .check(afterMs: 1)), (false, true, true, .leaveToPrimary),
            (false, false, true, .leaveToPrimary), (nil, true, false, .leaveToPrimary),
        ] as [(Bool?, Bool, Bool, ReplicaAttempt.Step)])
    func anAnswerDecidesTheNextStep(_ hasReplayed: Bool?, _ hasRun: Bool, _ isOver: Bool, _ step: ReplicaAttempt.Step) {
        var attempt = ReplicaAttempt()
        let next = attempt.checked(hasReplayed: hasReplayed, hasRun: hasRun, isOver: isOver)
        #expect(next == step)
    }

    @Test func pausesGrowUpToALimit() {
        var attempt = ReplicaAttempt()
        let steps = (0..<7).map { _ in attempt.checked(hasReplayed: false, hasRun: false, isOver: false) }
        #expect(steps == [1, 2, 4, 8, 16, 20, 20].map { .check(afterMs: $0) })
    }

    @Test func onlyAStatementThatRanTooLongFails() {
        var tooLong = PostgresError(.timeout(outcomeUnknown: false), "")
        tooLong.ranTooLong = true
        #expect(ReplicaAttempt().failed(tooLong) == .fail(tooLong))
        let others: [PostgresError.Code] = [
            .timeout(outcomeUnknown: false), .connectionLost(outcomeUnknown: false), .server(sqlState: "57014"),
        ]
        for code in others { #expect(ReplicaAttempt().failed(PostgresError(code, "")) == .leaveToPrimary) }
    }

    @Test(
        arguments: [
            (true, true, 0, .used, 0, nil), (true, true, -96, .used, 0, nil), (true, true, 4_096, .behind, 4_096, 70),
            // Nothing is replayed yet.
            (true, true, nil, .behind, nil, 70), (true, false, 4_096, .otherTimeline, nil, nil),
            (false, true, 0, .notStandby, nil, nil), (nil, false, nil, .unknown, nil, nil),
        ] as [(Bool?, Bool, Int64?, ReplicaReport.State, Int64?, Int64?)])
    func anAnswerIsAReport(
        _ isStandby: Bool?, _ isSameTimeline: Bool, _ bytes: Int64?, _ state: ReplicaReport.State,
        _ lagBytes: Int64?, _ lagMs: Int64?
    ) {
        let report = ReplicaReport(
            address: "a:5432", isStandby: isStandby, isSameTimeline: isSameTimeline, lagBytes: bytes, lagMs: 70)
        #expect(report == ReplicaReport(address: "a:5432", state: state, lagBytes: lagBytes, lagMs: lagMs))
    }

    @Test(
        arguments: [
            ("host=db-2 port=5433 user=u password=secret", "db-2:5433"),
            ("postgresql://u:secret@db-2/app", "db-2:5432"),
            ("host=a,b port=1,2", "a,b:1,2"), ("hostaddr=10.0.0.9", "10.0.0.9:5432"), ("dbname=d", "localhost:5432"),
        ])
    func anAddressHasNoPassword(_ connectionString: String, _ address: String) {
        #expect(ConnectionHosts.address(of: connectionString) == address)
    }
}
