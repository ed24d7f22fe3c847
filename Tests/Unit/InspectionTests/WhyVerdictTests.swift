import Inspection
import JSON
import Testing

/// One fact after the other turns the verdict; the others stay as those of a fresh screen.
@Suite struct WhyVerdictTests {
    private static func session(_ change: (inout SessionReport) -> Void = { _ in }) -> SessionReport {
        var session = SessionReport(
            session: "n2/7", protocolName: "graphql-transport-ws", peer: "", uid: "ann", sinceMs: 1, version: "v",
            subscription: "1", key: "k", digest: "new", position: nil, pendingBytes: 0, queuedResults: 0,
            tokenExpiresInMs: 60_000, isSuspended: false)
        change(&session)
        return session
    }

    private static func gateway(digest: String = "new", _ sessions: [SessionReport]) -> GatewayReport {
        GatewayReport(
            node: "n2", isDraining: false, digest: digest, position: nil, bytes: 10, isAwaitingOwner: false,
            lingersMs: 0, sessions: sessions)
    }

    private static func owner(_ change: (inout OwnerReport) -> Void = { _ in }) -> OwnerReport {
        var owner = OwnerReport(
            shard: 3, epoch: 1, sinceMs: 1, phase: "idle", runningForMs: 0, runs: 1, failures: 0, lastError: nil,
            waitsFor: [], digest: "old", position: nil, lastTriggerAtMs: 0, lastRunAtMs: 1_000, lastRunMs: 5,
            everyMs: nil, lastEventID: "5-0", subscribers: [])
        owner.node = "n1"
        change(&owner)
        return owner
    }

    private static func facts(_ change: (inout WhyFacts) -> Void) -> WhyFacts {
        var facts = WhyFacts(nowMs: 10_000)
        facts.operation = "movies/Shelf"
        facts.truth = .answered(digest: "new")
        facts.owner = owner()
        facts.shard = WhyFacts.Shard(number: 3, owner: "n1", wanted: "n1")
        facts.shard?.lastEventID = "5-0"
        facts.gateways = [gateway([session()])]
        change(&facts)
        return facts
    }

    private static func code(_ change: (inout WhyFacts) -> Void) -> WhyVerdict.Code { WhyVerdict(facts(change)).code }

    /// The gateway and its session have an older result.
    private static func stale(_ facts: inout WhyFacts) {
        facts.gateways = [gateway(digest: "old", [session { $0.digest = "old" }])]
    }

    private static func event(_ outcome: RuleVerdict.Outcome, atMs: Int64 = 5_000) -> EventVerdict {
        EventVerdict(
            atMs: atMs, id: "5-0", mutation: "movies/Add", trace: "t", isRecorded: true,
            isMatched: outcome == .matched,
            rules: [
                RuleVerdict(
                    rule: "onMutationExecuted Add", kind: .trigger, outcome: outcome, reason: "'Drama' ≠ 'Sci-Fi'")
            ])
    }

    @Test func obstaclesOfTheClientComeFirst() {
        #expect(Self.code { _ in } == .fresh)
        #expect(!WhyVerdict(Self.facts { _ in }).isStale)
        #expect(WhyVerdict(Self.facts { _ in }).state == .fresh)
        #expect(Self.code { ($0.isUserRevoked, $0.askedUid) = (true, "ann") } == .userRevoked)
        #expect(Self.code { $0.refusal = .init(.authRefused, "no", rule: "false") } == .authRefused)
        #expect(Self.code { $0.refusal = .init(.operationUnknown, "no operation") } == .operationUnknown)
        #expect(Self.code { $0.refusal = .init(.variablesInvalid, "no number") } == .variablesInvalid)
        #expect(Self.code { $0.choices = 2 } == .choose)
        #expect(Self.code { $0.askedSession = "n9/1" } == .sessionUnknown)
        #expect(Self.code { ($0.askedSession, $0.drained) = ("n9/1", ["n9"]) } == .nodeDrained)
    }

    @Test func sessionsSaySoThemselves() {
        #expect(Self.code { $0.gateways = [] } == .notFollowed)
        #expect(Self.code { $0.askedUid = "bob" } == .notFollowed)
        #expect(
            Self.code { $0.gateways = [Self.gateway([Self.session { $0.tokenExpiresInMs = -5 }])] } == .tokenExpired)
        #expect(Self.code { $0.gateways = [Self.gateway([Self.session { $0.isSuspended = true }])] } == .tokenExpired)
        let stalled = Self.session { ($0.pendingBytes, $0.queuedResults) = (1_000, 1) }
        #expect(Self.code { $0.gateways = [Self.gateway([stalled])] } == .clientStalled)
        // Another session is served.
        #expect(Self.code { $0.gateways = [Self.gateway([stalled, Self.session()])] } == .fresh)
        #expect(Self.code { $0.gateways[0].isDraining = true } == .nodeDrained)
        let reasons: [(String, WhyVerdict.Code)] = [
            ("token_expired", .tokenExpired), ("user_revoked", .userRevoked), ("auth_refused", .authRefused),
            ("client_stalled", .clientStalled), ("drained", .nodeDrained), ("left", .notFollowed),
        ]
        for (reason, code) in reasons {
            let end = EndRecord(session: "n2/6", uid: "ann", reason: reason, atMs: 9_000)
            #expect(Self.code { ($0.gateways, $0.ended) = ([], [end]) } == code, "\(reason)")
        }
    }

    @Test func theOwnerFollows() {
        #expect(Self.code { ($0.owner, $0.shard) = (nil, .init(number: 3, owner: nil, wanted: nil)) } == .noOwner)
        let stuck = WhyVerdict(
            Self.facts {
                Self.stale(&$0)
                ($0.owner, $0.unreachable) = (nil, ["n1"])
                $0.gateways[0].markerLateMs = 42_000
            })
        #expect(stuck.code == .shardStuck && stuck.sentence.contains("n1") && stuck.sentence.contains("42"))
        #expect(
            Self.code {
                Self.stale(&$0)
                $0.gateways[0].markerLateMs = 42_000
            } == .shardStuck)
        #expect(Self.code { $0.gateways[0].markerLateMs = 42_000 } == .fresh, "the screen has what the database has")
        #expect(Self.code { $0.owner = nil } == .refreshPending)
        #expect(Self.code { ($0.owner, $0.unreachable) = (nil, ["n1"]) } == .unknown)
        let running = Self.owner { ($0.phase, $0.runningForMs) = ("running", 4_000) }
        #expect(Self.code { $0.owner = running } == .runSlow)
        var waiting = running
        waiting.waitsFor = ["http://people"]
        #expect(Self.code { $0.owner = waiting } == .resolverHangs)
        #expect(Self.code { $0.owner = Self.owner { ($0.failures, $0.lastError) = (2, "no table") } } == .runFailing)
        #expect(Self.code { $0.truth = .failed("no table") } == .runFailing)
        #expect(Self.code { $0.truth = .timedOut(afterMs: 3_000) } == .runSlow)
        #expect(Self.code { $0.truth = .notRun } == .unknown)
        #expect(Self.code { $0.isCurrentVersion = false } == .otherVersion)
    }

    @Test func aDifferenceIsExplained() {
        #expect(Self.code { Self.stale(&$0) } == .staleUnexplained)
        #expect(
            Self.code { facts in
                Self.stale(&facts)
                facts.owner?.phase = "queued"
            } == .refreshPending)
        #expect(
            Self.code { facts in
                Self.stale(&facts)
                facts.owner?.digest = "new"
            } == .deliveryPending)
        #expect(
            Self.code { facts in
                Self.stale(&facts)
                facts.shard?.lastEventID = "6-0"
            } == .refreshPending)
        #expect(Self.code { $0.gateways = [Self.gateway([Self.session { $0.digest = "old" }])] } == .deliveryPending)
        func stale(_ change: (inout WhyFacts) -> Void) -> WhyVerdict {
            WhyVerdict(
                Self.facts { facts in
                    Self.stale(&facts)
                    change(&facts)
                })
        }
        let verdict = stale { $0.events = [Self.event(.no)] }
        #expect(verdict.code == .conditionFalse)
        #expect(
            verdict.sentence.contains("movies/Add ran 5.0 s ago") && verdict.sentence.contains("'Drama' ≠ 'Sci-Fi'"))
        let missing = WhyFacts.MissingRule(mutation: "movies/Rename", tables: ["movie"], rule: "@refresh(…)")
        #expect(stale { $0.missing = [missing] }.code == .noRule)
        // The last run has seen the event, or has not.
        for (position, code) in [("1.1.5-0", WhyVerdict.Code.noRule), ("1.1.4-0", .conditionFalse)] {
            let verdict = stale { facts in
                facts.owner?.position = position
                (facts.missing, facts.events) = ([missing], [Self.event(.no)])
            }
            #expect(verdict.code == code, "\(position)")
        }
        #expect(stale { ($0.readsLog, $0.slotProblem) = (true, "the slot is lost") }.code == .slotLost)
    }

    /// Mutations that no rule covers are to blame only if they ran.
    @Test func onlyMutationsThatRanAreBlamed() {
        let rename = WhyFacts.MissingRule(mutation: "movies/Rename", tables: ["movie"], rule: "@refresh(rename)")
        let hide = WhyFacts.MissingRule(mutation: "movies/Hide", tables: ["movie"], rule: "@refresh(hide)")
        func verdict(_ change: (inout WhyFacts) -> Void) -> WhyVerdict {
            WhyVerdict(
                Self.facts { facts in
                    Self.stale(&facts)
                    facts.missing = [rename, hide]
                    facts.areExecutionsKnown = true
                    change(&facts)
                })
        }
        let unknown = verdict { $0.areExecutionsKnown = false }
        #expect(unknown.code == .noRule && unknown.sentence.contains("movies/Rename or movies/Hide, which write movie"))
        #expect(unknown.sentence.hasSuffix("; or something wrote without Freshet."))
        let none = verdict { _ in }
        #expect(none.code == .staleUnexplained && none.sentence.contains("something wrote without Freshet"))
        // The last run took 5 ms and ended at 1,000.
        let hidden = verdict { $0.executions = ["movies/Hide": 5_000] }
        #expect(hidden.code == .noRule && hidden.next.first == "Add @refresh(hide)")
        #expect(
            hidden.sentence
                == "The screen is stale, and no rule is about movies/Hide, which writes movie and ran after the "
                + "query's last run.")
        // What ran before it was seen by it.
        let before = verdict { facts in
            facts.owner?.lastRunAtMs = 7_000
            facts.executions = ["movies/Hide": 5_000]
        }
        #expect(before.code == .staleUnexplained)
        // An event on the way tells, too.
        var event = Self.event(.notConcerned)
        event.mutation = "movies/Rename"
        #expect(verdict { $0.events = [event] }.sentence.contains("movies/Rename, which writes movie and ran"))
    }

    @Test func aSessionThatEndedSaysWhy() {
        let reasons: [(String, WhyVerdict.Code)] = [
            ("token_expired", .tokenExpired), ("user_revoked", .userRevoked), ("client_stalled", .clientStalled),
        ]
        for (reason, code) in reasons {
            let ended = [
                EndRecord(session: "n2/6", uid: "", reason: reason, atMs: 9_000),
                EndRecord(session: "n2/7", uid: "", reason: "drained", atMs: 9_500),
            ]
            let verdict = WhyVerdict(Self.facts { ($0.askedSession, $0.ended) = ("n2/6", ended) })
            #expect(verdict.code == code && verdict.sentence.contains("n2/6") && verdict.sentence.contains("1.0 s ago"))
        }
        #expect(Self.code { ($0.askedSession, $0.unreachable) = ("n2/6", ["n2"]) } == .unknown)
    }

    @Test func reportsOfNodesAreReadAsTheyWereWritten() {
        let owner = Self.owner {
            ($0.lastError, $0.everyMs, $0.subscribers) = (
                "e", 5, [.init(gateway: "g", digest: "d", awaitsAnswer: true)]
            )
        }
        #expect(OwnerReport(json: owner.json) == owner)
        let gateway = Self.gateway([Self.session { $0.isSuspended = true }])
        #expect(GatewayReport(json: gateway.json()) == gateway)
        #expect(
            gateway.holds("new") == "sameAsDatabase" && gateway.holds("x") == "older" && gateway.holds(nil) == "unknown"
        )
        let event = Self.event(.error)
        #expect(EventVerdict(json: event.json) == event)
        // Reports of nodes of another version lack members.
        #expect(OwnerReport(json: [:]).phase == "" && EventVerdict(json: ["rules": [1]]).rules.count == 1)
    }
}
