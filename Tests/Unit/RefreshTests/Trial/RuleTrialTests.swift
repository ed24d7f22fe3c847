import CEL
import Inspection
import JSON
import LiveModel
import Refresh
import SeededRandom
import Testing

/// Trials of edited rules on recorded events.
@Suite struct RuleTrialTests {
    private static let shelf = OperationReference(connector: "c", operation: "Shelf")
    private static let add = OperationReference(connector: "c", operation: "Add")
    private static let version = Digest(of: [1])
    private static let sameCategory = "mutation.variables.category == request.variables.category"

    private static func key(_ number: UInt8) -> LiveQueryKey { LiveQueryKey(digest: Digest(of: [number])) }

    private static func query(
        _ number: UInt8, _ variables: JSONObject, auth: JSONValue? = nil, sinceMs: Int64 = 0
    ) -> RecordedQuery {
        RecordedQuery(
            key: key(number), operation: shelf, version: version, variables: variables, auth: auth, node: "w",
            sinceMs: sinceMs)
    }

    private static func event(
        _ number: Int, _ variables: JSONObject, auth: JSONValue = .null, parts: AuthReads? = nil,
        others: Set<LiveQueryKey> = []
    ) -> RecordedEvent {
        RecordedEvent(
            id: "e\(number)", mutation: add, variables: variables, auth: auth, authParts: parts, traceID: "t",
            committedAtMs: Int64(number), appliedAtMs: ["w": Int64(number) * 100], others: others)
    }

    private static func run(_ number: UInt8, at ms: Int64, _ outcome: RunRecord.Outcome) -> RecordedRun {
        RecordedRun(node: "w", key: key(number), startedAtMs: ms, outcome: outcome)
    }

    private static func recording(
        _ condition: String?, _ queries: [RecordedQuery], _ events: [RecordedEvent], _ runs: [RecordedRun] = [],
        reads: AuthReads = .nothing, redacted: Set<String> = []
    ) -> EventRecording {
        var recording = EventRecording()
        recording.redacted = redacted
        recording.operations = [
            RecordedOperation(
                operation: shelf, version: version, rules: [.init(mutation: add, condition: condition)],
                authReads: reads)
        ]
        recording.queries = queries
        recording.events = events
        recording.runs = runs
        recording.runsSinceMs = ["w": 0]
        return recording
    }

    private static func trial(
        _ recording: EventRecording, _ condition: String?, limits: RuleTrial.Limits = .init()
    ) throws -> RuleTrial {
        let edit = try RuleEdit(shelf, number: nil, mutation: nil, condition: condition, in: recording)
        return try RuleTrial(recording, limits: limits) { known throws(TrialRule.ConditionError) in
            try edit.rules(of: known)
        }
    }

    private static func counts(_ trial: RuleTrial) -> [String: Int] {
        Dictionary(
            uniqueKeysWithValues: RuleTrial.Effect.allCases.map { ($0.rawValue, trial.total($0)) }.filter { $0.1 > 0 })
    }

    /// The edited rule is that of the version in service, whichever digest comes last.
    @Test func anEditNamesARuleOfTheCurrentVersion() throws {
        let (current, former) = (Digest(of: [1]), Digest(of: [2]))
        let rename = OperationReference(connector: "c", operation: "Rename")
        for (first, last) in [(current, former), (former, current)] {
            var recording = Self.recording(nil, [], [])
            recording.operations = [first, last].map { version in
                let rules: [RecordedOperation.Rule] =
                    version == current
                    ? [.init(mutation: rename, condition: nil), .init(mutation: Self.add, condition: "true")]
                    : [.init(mutation: Self.add, condition: "true")]
                return RecordedOperation(
                    operation: Self.shelf, version: version, rules: rules, authReads: .nothing,
                    isCurrent: version == current)
            }
            let edit = try RuleEdit(Self.shelf, number: 2, mutation: nil, condition: "false", in: recording)
            let edited = try recording.operations.map { known in
                try edit.rules(of: known)?.map { rule in
                    rule.mutation.operation + (rule.condition.map { " when \($0.source)" } ?? "")
                }
            }
            let expected = [
                current: ["Rename", "Add when false"], former: ["Add when false"],
            ]
            #expect(edited == [expected[first], expected[last]])
        }
    }

    // MARK: Effects

    @Test func runsSayWhatALeftOutRefreshWasWorth() throws {
        let queries = [
            Self.query(1, ["category": "Sci-Fi"]), Self.query(2, ["category": "Drama"]),
            Self.query(3, ["category": "Art"]), Self.query(4, ["category": "Books"]),
        ]
        let runs = [
            Self.run(1, at: 100, .same), Self.run(2, at: 101, .changed), Self.run(3, at: 105, .changed),
            // Began before the event, so it is not its answer.
            Self.run(4, at: 99, .changed),
        ]
        let trial = try Self.trial(
            Self.recording(nil, queries, [Self.event(1, ["category": "Drama"])], runs), Self.sameCategory)
        #expect(Self.counts(trial) == ["refreshed": 1, "missed": 1, "spared": 1, "unproven": 1])
        let missed = try #require(trial.rows[0].examples.first { $0.effect == .missed })
        #expect(missed.query.key == Self.key(3))
        #expect(missed.reason == "mutation.variables.category: 'Drama' ≠ 'Art'")
        let unproven = try #require(trial.rows[0].examples.first { $0.effect == .unproven })
        #expect(unproven.query.key == Self.key(4) && unproven.reason.contains("no run that ended"))
        #expect(
            trial.sentence
                == "1 needed refresh would be missed, 1 needless refresh would be spared, 1 refresh would be left out, "
                + "of which no run tells whether the result changed (1 event, 4 live queries).")
    }

    /// A run from after a gap in the recording answers no event from before it.
    @Test func runsThatMayBeMissingProveNothing() throws {
        var recording = Self.recording(
            nil, [Self.query(1, ["category": "Art"])],
            [Self.event(1, ["category": "Drama"]), Self.event(3, ["category": "Drama"])],
            [Self.run(1, at: 350, .changed)])
        #expect(Self.counts(try Self.trial(recording, "false")) == ["missed": 2])
        recording.runsSinceMs = ["w": 200]
        #expect(Self.counts(try Self.trial(recording, "false")) == ["missed": 1, "unproven": 1])
        recording.runsSinceMs = [:]
        #expect(Self.counts(try Self.trial(recording, "false")) == ["unproven": 2])
        recording.runsSinceMs = ["w": 0]
        for place in recording.events.indices { recording.events[place].othersLeftOut = 1 }
        #expect(Self.counts(try Self.trial(recording, "false")) == ["unproven": 2])
    }

    @Test func gapsOfTheRecordingMakeATrialIncomplete() throws {
        let whole = Self.recording(nil, [Self.query(1, ["category": "Art"])], [Self.event(1, ["category": "Art"])])
        #expect(try Self.trial(whole, "false").incomplete.isEmpty)
        var recording = whole
        recording.queriesLeftOut = 2
        recording.missingNodes = ["v"]
        recording.mutations = [Self.shelf]
        #expect(
            try Self.trial(recording, "false").incomplete == [
                "2 live queries were too many for the recording.", "The recording of v is missing.",
                "Events of c/Add are not in the recording, which was filtered when it was written.",
            ])
    }

    /// A rule about a further mutation is tried on the events of that mutation.
    @Test func aFurtherMutationIsTriedOnItsEvents() throws {
        let rename = OperationReference(connector: "c", operation: "Rename")
        var recording = Self.recording(nil, [Self.query(1, [:])], [Self.event(1, [:]), Self.event(2, [:])])
        recording.events[1].mutation = rename
        func trial(_ recording: EventRecording) throws -> RuleTrial {
            let edit = try RuleEdit(Self.shelf, number: nil, mutation: rename, condition: nil, in: recording)
            return try RuleTrial(recording) { known throws(TrialRule.ConditionError) in try edit.rules(of: known) }
        }
        let tried = try trial(recording.only(Self.shelf, tried: rename))
        #expect(tried.total(.added) == 1 && tried.incomplete.isEmpty)
        let filtered = try trial(recording.only(Self.shelf))
        #expect(filtered.total(.added) == 0 && filtered.incomplete.count == 1, "\(filtered.incomplete)")
    }

    @Test func aWiderConditionAdds() throws {
        let trial = try Self.trial(
            Self.recording(
                Self.sameCategory, [Self.query(1, ["category": "Sci-Fi"])], [Self.event(1, ["category": "Drama"])]),
            nil)
        #expect(Self.counts(trial) == ["added": 1])
        #expect(trial.rows[0].examples[0].reason == "before: mutation.variables.category: 'Drama' ≠ 'Sci-Fi'")
    }

    /// A run answers several events: it happens as long as one of them still matches.
    @Test func aRunThatAnotherEventCausesIsNoLoss() throws {
        let events = [Self.event(1, ["category": "Drama"]), Self.event(2, ["category": "Sci-Fi"])]
        let recording = Self.recording(
            nil, [Self.query(1, ["category": "Sci-Fi"])], events, [Self.run(1, at: 250, .changed)])
        #expect(Self.counts(try Self.trial(recording, Self.sameCategory)) == ["refreshed": 2])
        #expect(Self.counts(try Self.trial(recording, "false")) == ["missed": 2])
    }

    @Test func otherReasonsStay() throws {
        let recording = Self.recording(
            nil, [Self.query(1, ["category": "Sci-Fi"])],
            [Self.event(1, ["category": "Drama"], others: [Self.key(1)])], [Self.run(1, at: 200, .changed)])
        #expect(Self.counts(try Self.trial(recording, "false")) == ["refreshed": 1])
    }

    @Test func laterRegistrationsAreNotAsked() throws {
        let recording = Self.recording(
            nil, [Self.query(1, ["category": "Sci-Fi"], sinceMs: 101)], [Self.event(1, ["category": "Drama"])])
        #expect(Self.counts(try Self.trial(recording, "false")).isEmpty)
    }

    @Test func theSameRulesNeedNoTrial() throws {
        let recording = Self.recording(
            Self.sameCategory, [Self.query(1, ["category": "a"])], [Self.event(1, ["category": "a"])])
        let trial = try Self.trial(recording, Self.sameCategory)
        #expect(trial.rows.isEmpty && trial.sentence == "The rules are the same: nothing would change.")
        #expect(try Self.trial(Self.recording(nil, [], []), "true").sentence.hasPrefix("No event is recorded"))
    }

    // MARK: Hidden values

    @Test func hiddenValuesMakeNoVerdict() throws {
        let hidden: JSONObject = ["pin": .string(Redaction.mark), "category": "Sci-Fi"]
        let recording = Self.recording(
            nil, [Self.query(1, hidden), Self.query(2, ["pin": .string(Redaction.mark), "category": "Art"])],
            [Self.event(1, hidden)], [Self.run(1, at: 100, .changed), Self.run(2, at: 100, .same)], redacted: ["pin"])
        // Both sides have the same mark: no comparison of marks decides.
        let equal = try Self.trial(recording, "mutation.variables.pin == request.variables.pin")
        #expect(Self.counts(equal) == ["unjudged": 2])
        #expect(equal.unjudged.map(\.liveQueries) == [2])
        #expect(equal.unjudged[0].reason == "mutation.variables.pin is redacted")
        // Another part that is false decides.
        let mixed = try Self.trial(
            recording, "mutation.variables.pin == request.variables.pin && \(Self.sameCategory)")
        #expect(Self.counts(mixed) == ["unjudged": 1, "spared": 1])
        let inside = try Self.trial(recording, "size(string(request.variables)) > 0 || true")
        #expect(Self.counts(inside)["unjudged"] == 2, "\(Self.counts(inside))")
    }

    @Test func partsOfAuthThatWereNotRecordedMakeNoVerdict() throws {
        var uid = AuthReads.nothing
        uid.add(path: ["uid"])
        let token: JSONValue = ["uid": "ann", "token": .string(Redaction.mark)]
        let condition = "request.auth.uid == mutation.auth.uid"
        let unread = Self.recording(nil, [Self.query(1, [:])], [Self.event(1, [:], auth: token, parts: uid)])
        let trial = try Self.trial(unread, condition)
        #expect(Self.counts(trial) == ["unjudged": 1])
        #expect(trial.unjudged[0].reason == "request.auth.uid was not recorded")
        let read = Self.recording(
            nil, [Self.query(1, [:], auth: token), Self.query(2, [:], auth: ["uid": "bob"])],
            [Self.event(1, [:], auth: token, parts: uid)], [Self.run(2, at: 100, .same)], reads: uid)
        #expect(Self.counts(try Self.trial(read, condition)) == ["refreshed": 1, "spared": 1])
        let claim = try Self.trial(read, "request.auth.token.org == 'a'")
        #expect(Self.counts(claim) == ["unjudged": 2])
        // A signed-out client has nothing to hide.
        let signedOut = Self.recording(
            nil, [Self.query(1, [:], auth: .null)], [Self.event(1, [:])], [Self.run(1, at: 100, .same)], reads: uid)
        #expect(Self.counts(try Self.trial(signedOut, "request.auth.token.org == 'a'")) == ["spared": 1])
    }

    // MARK: Mistakes

    @Test(
        arguments: [
            ("mutation.variables.", "1:20"), ("mutaton.variables.a == 1", "1:1"), ("1 + 1", "1:1"),
            ("true &&\n  request.headers.a == 1", "2:3"),
        ])
    func mistakesHavePlaces(_ condition: String, _ place: String) throws {
        let recording = Self.recording(nil, [], [])
        let error = #expect(throws: TrialRule.ConditionError.self) { try Self.trial(recording, condition) }
        #expect(error?.description.hasPrefix(place) == true, "\(error.map(\.description) ?? "")")
    }

    @Test func editsNameOneRule() throws {
        var recording = Self.recording(nil, [], [])
        recording.operations[0].rules.append(.init(mutation: Self.add, condition: "true"))
        func problem(_ operation: OperationReference, _ number: Int?) -> String {
            do {
                _ = try RuleEdit(operation, number: number, mutation: nil, condition: nil, in: recording)
                return ""
            } catch {
                return "\(error)"
            }
        }
        #expect(
            problem(Self.shelf, nil).contains("has 2 rules; give the number of one: 1. onMutationExecuted c/Add; 2."))
        #expect(problem(Self.shelf, 3).contains("has no rule 3"))
        #expect(problem(Self.add, nil).contains("the recording has no rules of c/Add; there are c/Shelf"))
        #expect(problem(Self.shelf, 2).isEmpty)
    }

    @Test func aTrialEndsAtItsLimit() throws {
        var limits = RuleTrial.Limits()
        limits.pairsMax = 10
        let queries = (0..<8).map { Self.query($0, ["category": "a"]) }
        let events = (1...8).map { Self.event($0, ["category": "b"]) }
        let trial = try Self.trial(Self.recording(nil, queries, events), "false", limits: limits)
        #expect(trial.isCutShort && trial.total(.unproven) == 10 && trial.sentence.contains("ended early"))
    }

    @Test func membersThatDoNotMatchCountTowardsTheLimit() throws {
        var limits = RuleTrial.Limits()
        limits.pairsMax = 20
        let queries = (0..<8).map { Self.query($0, ["category": "a"]) }
        let events = (1...8).map { Self.event($0, ["category": "b"]) }
        // No part can be indexed, and no event concerns anyone.
        let condition = "mutation.variables.category < request.variables.category + ''"
        let recording = Self.recording("false", queries, events)
        #expect(try Self.trial(recording, condition, limits: limits).isCutShort)
        limits.pairsMax = 1_000
        let whole = try Self.trial(recording, condition, limits: limits)
        #expect(!whole.isCutShort && Self.counts(whole).isEmpty)
    }

    // MARK: The index

    /// Random rules, live queries and events: the trial says of each pair what asking the rules one by one says.
    @Test(arguments: 0..<30 as Range<UInt64>)
    func agreesWithRulesAskedOneByOne(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func value() -> JSONValue { .int(Int64(random.next() % 3)) }
        let conditions: [String?] = [
            nil, "mutation.variables.a == request.variables.a", "mutation.variables.a == 1",
            "request.variables.b < mutation.variables.b && mutation.variables.a == request.variables.a",
            "request.variables.missing == 1 || mutation.variables.a == 2",
        ]
        let present = conditions[Int(random.next() % 5)]
        let edited = conditions[Int(random.next() % 5)]
        let queries = (0..<6).map { Self.query($0, ["a": value(), "b": value()]) }
        let events = (1...12).map { Self.event($0, ["a": value(), "b": value()]) }
        let recording = Self.recording(present, queries, events)
        let trial = try Self.trial(recording, edited)
        if present == edited { return #expect(trial.rows.isEmpty, "seed \(seed)") }
        func isConcerned(_ event: RecordedEvent, _ query: RecordedQuery, _ condition: String?) throws -> Bool {
            let rules = RefreshFixture.rules(
                [
                    Trigger(
                        id: .init(operation: Self.shelf, version: Self.version, number: 0), mutation: Self.add,
                        condition: try condition.map { try ConditionActivation.environment.compile($0) })
                ], variables: query.variables)
            return RuleIndex.concerns(event.event, rules: rules)
        }
        var expected: [String: Int] = [:]
        for event in events {
            for query in queries {
                switch (try isConcerned(event, query, present), try isConcerned(event, query, edited)) {
                case (true, true): expected["refreshed", default: 0] += 1
                case (true, false): expected["unproven", default: 0] += 1
                case (false, true): expected["added", default: 0] += 1
                case (false, false): break
                }
            }
        }
        #expect(Self.counts(trial) == expected, "seed \(seed): \(present ?? "-") to \(edited ?? "-")")
    }
}
