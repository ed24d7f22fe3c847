import Foundation
import Inspection
import JSON
import LiveModel
import Testing

/// Recorded events, their file, and flight recorders.
@Suite struct EventRecordingTests {
    private static let operation = OperationReference(connector: "c", operation: "Shelf")
    private static let mutation = OperationReference(connector: "c", operation: "Add")

    private static func key(_ number: UInt8) -> LiveQueryKey { LiveQueryKey(digest: Digest(of: [number])) }

    private static func seen(
        _ number: Int, _ variables: JSONObject = [:], others: [LiveQueryKey] = []
    ) -> WorkerObservation {
        let event = MutationEvent(
            id: "e\(number)", operation: mutation, variables: variables,
            auth: ["uid": "ann", "token": ["org": "acme"]], keysWritten: [], traceID: "t",
            committedAtMs: Int64(number))
        return .event(
            EventObservation(
                shard: ShardID(1), id: StreamID(ms: UInt64(number), sequence: 0), event: event, considered: 1,
                matched: 1, matches: [], verdicts: [], appliedAtMs: Int64(number) + 5, others: others))
    }

    private static func run(_ number: Int) -> WorkerObservation {
        .run(
            key(1), operation, ShardID(1),
            RunRecord(
                startedAtMs: Int64(number), ms: 1, causes: ["rule"], trace: "t", isTraced: false, coalesced: 1,
                outcome: .changed, digest: nil, error: nil, gateways: []))
    }

    private static func observe(_ recorder: inout Recorder, _ observation: WorkerObservation, on node: String = "n1") {
        _ = recorder.observed(observation, on: NodeID(node), nowUs: 1)
    }

    // MARK: Capture

    @Test func eventsAreRecordedForATimeAndStayForAnother() {
        var recorder = Recorder()
        Self.observe(&recorder, Self.seen(1))
        #expect(recorder.recordedEvents.events.isEmpty && !recorder.scope.events)
        recorder.recordEvents(forMs: 1_000, nowMs: 0)
        #expect(recorder.isOn && recorder.scope.events && recorder.eventsUntilMs == 1_000)
        Self.observe(&recorder, Self.seen(2))
        Self.observe(&recorder, Self.run(2))
        recorder.expire(nowMs: 1_000)
        #expect(!recorder.scope.events && recorder.eventsUntilMs == nil)
        Self.observe(&recorder, Self.seen(3))
        #expect(recorder.recordedEvents.events.map(\.id) == ["e2"] && recorder.recordedEvents.runs.count == 1)
        recorder.expire(nowMs: 1_000 + recorder.settings.armedMs)
        #expect(!recorder.isOn && recorder.recordedEvents.events.isEmpty)
    }

    @Test func newEventsReplaceOldOnesWithinCountAndBytes() {
        var settings = Recorder.Settings()
        settings.eventsMax = 3
        var recorder = Recorder(settings)
        recorder.recordEvents(forMs: 1_000, nowMs: 0)
        for number in 1...5 { Self.observe(&recorder, Self.seen(number)) }
        #expect(recorder.recordedEvents.events.map(\.id) == ["e3", "e4", "e5"])
        #expect(recorder.recordedEvents.leftOut == 2)
        // Another shard applies the same event.
        Self.observe(&recorder, Self.seen(4, others: [Self.key(7)]))
        #expect(recorder.recordedEvents.events.map(\.id) == ["e3", "e4", "e5"])
        #expect(recorder.recordedEvents.events[1].others == [Self.key(7)])
        Self.observe(&recorder, Self.seen(6))
        #expect(recorder.recordedEvents.events.map(\.id) == ["e4", "e5", "e6"])
        settings.eventsMax = 1_000
        settings.eventsBytesMax = 2_000
        var small = Recorder(settings)
        small.recordEvents(forMs: 1_000, nowMs: 0)
        for number in 1...100 {
            Self.observe(&small, Self.seen(number))
            Self.observe(&small, Self.run(number))
            #expect(small.eventBytes <= 2_000)
        }
        #expect(small.eventCount < 10)
    }

    @Test func runsDoNotCrowdOutEvents() {
        var settings = Recorder.Settings()
        settings.eventsBytesMax = 4_000
        var recorder = Recorder(settings)
        recorder.recordEvents(forMs: 1_000, nowMs: 0)
        for number in 1...100 {
            Self.observe(&recorder, Self.seen(10 * number))
            for _ in 0..<4 { Self.observe(&recorder, Self.run(10 * number + 5)) }
        }
        let recorded = recorder.recordedEvents
        #expect(recorder.eventBytes <= 4_000 && recorded.events.last?.id == "e1000" && recorded.events.count > 1)
        #expect(recorded.runs.count > recorded.events.count)
        // What is left reaches back equally far, by one event and its runs.
        let (event, run) = (recorded.events.first?.appliedAtMs["n1"] ?? 0, recorded.runs.first?.startedAtMs ?? 0)
        #expect(abs(event - run) <= 10, "\(event) \(run)")
    }

    @Test func theTimeOfCompleteRunsMovesForward() {
        var settings = Recorder.Settings()
        settings.eventsMax = 2
        var recorder = Recorder(settings)
        #expect(recorder.runsSinceMs == nil)
        recorder.recordEvents(forMs: 1_000, nowMs: 10)
        recorder.recordEvents(forMs: 1_000, nowMs: 15)
        #expect(recorder.runsSinceMs == 10)
        for number in [20, 30, 40] { Self.observe(&recorder, Self.run(number)) }
        #expect(recorder.runsSinceMs == 21)
        recorder.stopEvents(nowMs: 50)
        recorder.recordEvents(forMs: 1_000, nowMs: 60)
        #expect(recorder.runsSinceMs == 60)
        recorder.observationsDropped(3, nowMs: 70)
        #expect(recorder.runsSinceMs == 71 && recorder.recordedEvents.leftOut == 4)
    }

    @Test func nothingHiddenIsRecorded() throws {
        var settings = Recorder.Settings()
        settings.redaction = Redaction(names: ["pin"])
        var recorder = Recorder(settings)
        recorder.recordEvents(forMs: 1_000, nowMs: 0)
        Self.observe(&recorder, Self.seen(1, ["pin": "1234", "a": ["pin": "5678"]]))
        let lines = recorder.recordedEvents.lines.map(\.description).joined()
        #expect(!lines.contains("1234") && !lines.contains("5678") && !lines.contains("acme"))
        #expect(lines.contains(#""uid":"ann""#) && lines.contains(#""redacted":["pin"]"#))
    }

    // MARK: The file

    private static var recording: EventRecording {
        var recording = EventRecording()
        recording.redacted = ["pin"]
        var reads = AuthReads.nothing
        reads.add(path: ["token", "org"])
        recording.operations = [
            RecordedOperation(
                operation: operation, version: Digest(of: [9]),
                rules: [.init(mutation: mutation, condition: "true"), .init(mutation: mutation, condition: nil)],
                authReads: reads, isCurrent: true)
        ]
        recording.queries = [
            RecordedQuery(
                key: key(1), operation: operation, version: Digest(of: [9]), variables: ["a": 1], auth: .null,
                node: "n1", sinceMs: 3)
        ]
        recording.events = [
            RecordedEvent(
                id: "e1", mutation: mutation, variables: ["a": [1, "x"]], auth: ["uid": "ann"], authParts: reads,
                traceID: "t", committedAtMs: 1, appliedAtMs: ["n1": 2], others: [key(1)], othersLeftOut: 4)
        ]
        recording.runs = [RecordedRun(node: "n1", key: key(1), startedAtMs: 5, outcome: .same)]
        recording.leftOut = 7
        recording.queriesLeftOut = 3
        recording.runsSinceMs = ["n1": 4]
        recording.mutations = [mutation]
        recording.missingNodes = ["n3"]
        return recording
    }

    private static func file(_ recording: EventRecording) -> String {
        recording.lines.map { $0.description + "\n" }.joined()
    }

    @Test func aFileIsReadAsItWasWritten() throws {
        let written = Self.recording
        let read = try EventRecording(text: Array(Self.file(written).utf8))
        #expect(read.operations == written.operations && read.queries == written.queries)
        #expect(read.events == written.events && read.runs == written.runs)
        #expect(read.redacted == written.redacted && read.leftOut == 7 && read.queriesLeftOut == 3)
        #expect(read.runsSinceMs == written.runsSinceMs && read.mutations == written.mutations)
        #expect(read.missingNodes == written.missingNodes)
        // Blank lines and Windows' ends of lines do no harm.
        let spaced = Self.file(written).replacingOccurrences(of: "\n", with: "\r\n") + "\n\n"
        #expect(try EventRecording(text: Array(spaced.utf8)).events.count == 1)
    }

    @Test(
        arguments: [
            ("", 1, "empty"), ("{}\n", 1, "first line must be"), ("\n\nx\n", 3, "no JSON"),
            (#"{"type":"recording","version":2}"#, 1, "version"),
        ])
    func badFilesNameTheLine(_ text: String, _ line: Int, _ problem: String) {
        let error = #expect(throws: EventRecording.LineError.self) { try EventRecording(text: Array(text.utf8)) }
        #expect(error?.line == line && error?.problem.contains(problem) == true, "\(error.map(\.description) ?? "")")
    }

    @Test(
        arguments: [
            (#"{"type":"event","id":"e"}"#, "\"appliedAtMs\" must be an object"), (#"{"type":"what"}"#, "not \"what\""),
            (#"{"type":"run","outcome":"lost"}"#, "\"outcome\" must be changed"),
            (#"{"type":"query","key":"12"}"#, "64 hexadecimal digits"), ("[]", "\"type\" must be"), ("{", "no JSON"),
            (#"{"type":"operation","rules":[{"mutation":"Add"}]}"#, "CONNECTOR/OPERATION"),
        ])
    func badLinesNameTheMember(_ line: String, _ problem: String) {
        let text = #"{"type":"recording","version":1,"redacted":[],"leftOut":0}"# + "\n\n" + line
        let error = #expect(throws: EventRecording.LineError.self) { try EventRecording(text: Array(text.utf8)) }
        #expect(error?.line == 3 && error?.problem.contains(problem) == true, "\(error.map(\.description) ?? "")")
    }

    @Test func partsOfNodesBecomeOne() {
        var (left, right) = (Self.recording, Self.recording)
        right.events[0].appliedAtMs = ["n2": 9]
        right.events[0].others = [Self.key(2)]
        right.queries[0].sinceMs = 8
        left.events.append(
            RecordedEvent(
                id: "e0", mutation: Self.mutation, variables: [:], auth: .null, authParts: nil, traceID: "",
                committedAtMs: 0, appliedAtMs: ["n1": 1]))
        let merged = EventRecording(merging: [left, right])
        #expect(merged.events.map(\.id) == ["e0", "e1"] && merged.operations.count == 1 && merged.leftOut == 14)
        #expect(merged.events[1].appliedAtMs == ["n1": 2, "n2": 9] && merged.events[1].others.count == 2)
        #expect(merged.queries.map(\.sinceMs) == [8] && merged.runs.count == 2)
        #expect(merged.only(Self.mutation).events.count == 2 && merged.only(Self.operation).queries.count == 1)
        #expect(merged.only(OperationReference(connector: "c", operation: "Other")).events.isEmpty)
    }

    // MARK: Flights

    @Test func aFlightRecorderKeepsTheNewestOfFewUsers() {
        var settings = Recorder.Settings()
        (settings.flightsMax, settings.flightEntriesMax) = (2, 3)
        var recorder = Recorder(settings)
        recorder.add(FlightEntry(atMs: 1, .began, session: "n/1"), of: "ann")
        #expect(recorder.flight(of: "ann") == nil && !recorder.isOn)
        recorder.armFlight(of: "ann", forMs: 5_000, nowMs: 0)
        for number in 1...5 {
            recorder.add(FlightEntry(atMs: Int64(number), .began, session: "n/\(number)"), of: "ann")
        }
        recorder.add(FlightEntry(atMs: 6, .began, session: "n/9"), of: "bob")
        #expect(recorder.flight(of: "ann")?.entries.map(\.session) == ["n/3", "n/4", "n/5"])
        #expect(recorder.flight(of: "ann")?.dropped == 2 && recorder.flight(of: "bob") == nil)
        recorder.armFlight(of: "bob", forMs: 9_000, nowMs: 0)
        recorder.armFlight(of: "eve", forMs: 9_000, nowMs: 0)
        #expect(recorder.flight(of: "ann") == nil && recorder.hasFlight(of: "bob"))
        recorder.add(FlightEntry(atMs: 9_000, .ended, session: "n/1"), of: "bob")
        #expect(recorder.flight(of: "bob")?.entries.isEmpty == true)
        recorder.disarmFlight(of: "bob")
        recorder.expire(nowMs: 9_000 + settings.armedMs)
        #expect(!recorder.isOn)
    }

    @Test func deliveriesOfASecondAreOneEntry() {
        var recorder = Recorder()
        recorder.armFlight(of: "ann", forMs: 60_000, nowMs: 0)
        func deliver(_ ms: Int64, _ operation: String = "c/Q") {
            recorder.add(
                FlightEntry(atMs: ms, .delivered, session: "n/1", operation: operation, count: 1, bytes: 10), of: "ann")
        }
        for ms in [0, 100, 999, 1_000, 1_001] as [Int64] { deliver(ms) }
        deliver(1_002, "c/R")
        let entries = recorder.flight(of: "ann")?.entries ?? []
        #expect(entries.map(\.count) == [3, 2, 1] && entries.map(\.bytes) == [30, 20, 10])
    }
}
