import Inspection
import JSON
import LiveModel
import Testing

@Suite struct RecorderTests {
    private static let node = NodeID("n1")

    private static func key(_ number: UInt8) -> LiveQueryKey { LiveQueryKey(digest: Digest(of: [number])) }

    private static let operation = OperationReference(connector: "movies", operation: "Shelf")
    private static let mutation = OperationReference(connector: "movies", operation: "Add")

    private static func seen(_ number: Int, for keys: [LiveQueryKey], traced: Bool = false) -> WorkerObservation {
        let event = MutationEvent(
            id: "e\(number)", operation: mutation, variables: [:], auth: ["uid": "ann"], keysWritten: [], traceID: "t",
            committedAtMs: 1, isTraced: traced)
        let verdict = EventVerdict(
            atMs: 1, id: "\(number)-0", mutation: "movies/Add", trace: "t", isRecorded: true, isMatched: false,
            rules: [])
        return .event(
            EventObservation(
                shard: ShardID(3), id: StreamID(ms: UInt64(number), sequence: 0), event: event, considered: 5,
                matched: 1, matches: [.init(key: key(1), operation: operation, rules: ["rule"])],
                verdicts: keys.map { ($0, verdict) }))
    }

    private static func run(traced: Bool = false) -> WorkerObservation {
        .run(
            key(1), operation, ShardID(3),
            RunRecord(
                startedAtMs: 1, ms: 2, causes: ["rule"], trace: "t", isTraced: traced, coalesced: 2, outcome: .changed,
                digest: "d", error: nil, gateways: ["n2"]))
    }

    @Test func nothingIsRecordedUnlessSomebodyLooks() {
        var recorder = Recorder()
        #expect(!recorder.isOn && recorder.scope.isEmpty)
        #expect(recorder.observed(Self.seen(1, for: [Self.key(1)]), on: Self.node, nowUs: 1).isEmpty)
        #expect(recorder.record(of: Self.key(1)) == nil && recorder.spanCount == 0)
        recorder.arm(Self.key(1), nowMs: 1_000)
        #expect(recorder.isOn && recorder.scope.queries == [Self.key(1)])
        recorder.expire(nowMs: 1_000 + recorder.settings.armedMs - 1)
        #expect(recorder.isOn)
        recorder.expire(nowMs: 1_000 + recorder.settings.armedMs)
        #expect(!recorder.isOn && recorder.scope.isEmpty)
    }

    /// Ends are known though nobody looked before, without users and queries, and not for long.
    @Test func endsThatTheNodeCausedAreKnownBySession() {
        var recorder = Recorder()
        recorder.endedSessions.ended("n/1", reason: "token_expired", atMs: 5)
        recorder.endedSessions.ended("n/1", reason: "token_expired", atMs: 6)
        recorder.endedSessions.ended("n/2", reason: "user_revoked", atMs: 7)
        #expect(!recorder.isOn && recorder.ends(of: "n/3").isEmpty)
        #expect(
            recorder.ends(of: "n/1") == [EndRecord(session: "n/1", uid: "", reason: "token_expired", atMs: 5)])
        // A new token came.
        recorder.endedSessions.resumed("n/1")
        #expect(recorder.ends(of: "n/1").isEmpty)
        // What was recorded of a live query tells more.
        recorder.arm(Self.key(1), nowMs: 1)
        let end = EndRecord(session: "n/2", uid: "ann", reason: "user_revoked", atMs: 7)
        recorder.ended(end, of: Self.key(1))
        #expect(recorder.ends(of: "n/2") == [end])
        for number in 0..<10_000 { recorder.endedSessions.ended("m/\(number)", reason: "drained", atMs: 8) }
        #expect(recorder.ends(of: "m/9999").count == 1 && recorder.ends(of: "m/1").isEmpty)
    }

    @Test func ringsAreBoundedByCountAndBytes() {
        var settings = Recorder.Settings()
        (settings.queriesMax, settings.decisionsMax) = (2, 3)
        var recorder = Recorder(settings)
        recorder.arm(Self.key(1), nowMs: 1)
        recorder.arm(Self.key(2), nowMs: 2)
        for number in 1...9 { _ = recorder.observed(Self.seen(number, for: [Self.key(1)]), on: Self.node, nowUs: 1) }
        for _ in 1...9 { _ = recorder.observed(Self.run(), on: Self.node, nowUs: 1) }
        let record = recorder.record(of: Self.key(1))
        #expect(record?.verdicts.map(\.id) == ["7-0", "8-0", "9-0"] && record?.runs.count == 3)
        // A third one replaces the one looked at longest ago.
        recorder.arm(Self.key(1), nowMs: 3)
        recorder.arm(Self.key(3), nowMs: 4)
        #expect(recorder.record(of: Self.key(2)) == nil && recorder.queryCount == 2)
        settings.bytesMax = 1_000
        var small = Recorder(settings)
        small.arm(Self.key(1), nowMs: 1)
        for number in 1...9 {
            _ = small.observed(Self.seen(number, for: [Self.key(1)]), on: Self.node, nowUs: 1)
            #expect(small.bytes <= 1_000)
        }
        recorder.disarm()
        #expect(!recorder.isOn && recorder.bytes == 0)
    }

    @Test func tracesAreARing() throws {
        var settings = Recorder.Settings()
        (settings.spansMax, settings.tracesPerSecond) = (4, 2)
        var recorder = Recorder(settings)
        // Two per second, however many ask.
        let asked = (0..<5).map { _ in recorder.traces(isWanted: true, random: 0, nowMs: 10) }
        #expect(asked == [true, true, false, false, false])
        let later = recorder.traces(isWanted: true, random: 0, nowMs: 1_010)
        let unasked = recorder.traces(isWanted: false, random: 0, nowMs: 10)
        #expect(later && !unasked)
        recorder.sample(rate: 0.5, forMs: 100, nowMs: 0)
        let sampled = [0.4, 0.6].map { recorder.traces(isWanted: false, random: $0, nowMs: 50) }
        let ended = recorder.traces(isWanted: false, random: 0, nowMs: 100)
        #expect(sampled == [true, false] && !ended)
        recorder.add(.committed("t", Self.mutation, event: "e1", committedAtMs: 1, on: Self.node, nowUs: 1_000))
        recorder.awaitPublication(of: "e0", trace: "s", nowUs: 1_000 - 20_000_000)
        recorder.awaitPublication(of: "e1", trace: "t", nowUs: 1_000)
        #expect(recorder.isTracing)
        recorder.published("e1", to: [ShardID(3)], on: Self.node, nowUs: 1_500)
        recorder.published("e1", to: [ShardID(3)], on: Self.node, nowUs: 1_500)
        #expect(!recorder.isTracing && recorder.spans(of: "t").count == 2)
        #expect(recorder.traces(limit: 10).map(\.spans) == [2])
        _ = recorder.observed(Self.seen(1, for: [], traced: true), on: Self.node, nowUs: 2_000)
        let report = try #require(TraceReport("t", recorder.spans(of: "t")))
        #expect(report.json(unreachable: [])["spans"]?.arrayValue?.map { $0["ms"]?.doubleValue } == [0, 0.5, 1, 1])
        #expect(report.sentence.contains("reached no session: 1 live query matched"))
        _ = recorder.observed(Self.run(traced: true), on: Self.node, nowUs: 3_000)
        #expect(recorder.spanCount == 4 && recorder.spans(of: "t").allSatisfy { $0.kind != .committed })
        let spans = recorder.spans(of: "t")
        #expect(spans.compactMap { Span(json: $0.json)?.kind } == spans.map(\.kind))
        #expect(TraceReport("other", recorder.spans(of: "other")) == nil)
    }

    @Test func tailsGetWhatTheirFilterAccepts() throws {
        var settings = Recorder.Settings()
        settings.tailsMax = 2
        var recorder = Recorder(settings)
        let all = try #require(TailFilter(operation: nil, kinds: nil, uid: nil))
        let runs = try #require(TailFilter(operation: "Shelf", kinds: "runs,deliveries", uid: nil))
        #expect(TailFilter(operation: nil, kinds: "runs,other", uid: nil) == nil)
        let (first, second) = (recorder.openTail(all), recorder.openTail(runs))
        let third = recorder.openTail(all)
        #expect(first == 1 && second == 2 && third == nil && recorder.scope.everything)
        let events = recorder.observed(Self.seen(1, for: []), on: Self.node, nowUs: 1)
        let ran = recorder.observed(Self.run(), on: Self.node, nowUs: 1)
        #expect(events.map { recorder.tails(for: $0) } == [[1]] && ran.map { recorder.tails(for: $0) } == [[1, 2]])
        let mine = try #require(TailFilter(operation: nil, kinds: nil, uid: "bob"))
        recorder.closeTail(1)
        _ = recorder.openTail(mine)
        #expect(events.map { recorder.tails(for: $0) } == [[]])
        recorder.closeTail(2)
        recorder.closeTail(3)
        #expect(!recorder.isOn)
    }

    @Test func secretsAreNotShown() {
        let redaction = Redaction(names: ["Password"])
        #expect(
            redaction.variables(["password": "x", "a": ["PASSWORD": 1, "b": 2], "c": [["password": 1]]])
                == [
                    "password": "(redacted)", "a": ["PASSWORD": "(redacted)", "b": 2],
                    "c": [["password": "(redacted)"]],
                ])
        #expect(redaction.auth(["uid": "u", "token": ["org": 1]]) == ["uid": "u", "token": "(redacted)"])
        #expect(
            redaction.auth(["uid": "u", "token": [:]]) == ["uid": "u", "token": [:]] && redaction.auth(nil) == nil)
        #expect(
            redaction.hides(path: ["mutation", "auth", "token", "org"]) && redaction.hides(path: ["request", "auth"]))
        #expect(
            !redaction.hides(path: ["mutation", "auth", "uid"]) && !redaction.hides(path: ["request", "variables"]))
        #expect(redaction.hides(path: ["request", "variables", "password"]))
    }

    @Test func namesThatTheProjectMarksAreHidden() {
        var settings = Recorder.Settings()
        settings.redaction = Redaction(names: ["password"])
        var recorder = Recorder(settings)
        recorder.arm(Self.key(1), nowMs: 0)
        let before = recorder.scope
        recorder.redact(["taxNumber"])
        #expect(recorder.redaction.hides("TAXNUMBER") && recorder.redaction.hides("password"))
        #expect(!recorder.scope.isSame(as: before) && recorder.scope.redaction.hides("taxNumber"))
        // A version that marks nothing.
        recorder.redact([])
        #expect(!recorder.redaction.hides("taxNumber") && recorder.redaction.hides("password"))
    }

    @Test("A flight recorder is never shortened by arming it again")
    func flightsAreExtended() {
        var recorder = Recorder()
        recorder.armFlight(of: "ann", forMs: 60_000, nowMs: 0)
        recorder.armFlight(of: "ann", forMs: 1_000, nowMs: 10)
        #expect(recorder.flight(of: "ann")?.untilMs == 60_000)
        recorder.armFlight(of: "ann", forMs: 60_000, nowMs: 20)
        #expect(recorder.flight(of: "ann")?.untilMs == 60_020)
    }
}
