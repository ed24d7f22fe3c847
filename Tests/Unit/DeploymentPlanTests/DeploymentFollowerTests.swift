import DeploymentPlan
import LiveModel
import Testing

/// A node's reading, compiling and serving of deployments, answer by answer. A compiled version is its name here.
@Suite struct DeploymentFollowerTests {
    private typealias Follower = DeploymentFollower<String>
    private static let keepMs: Int64 = 1_000

    private static func version(_ name: String) -> Digest { Digest(of: name.utf8) }

    private static func follower(othersMax: Int = 4) -> Follower {
        var settings = Follower.Settings()
        settings.schedule.keepMs = keepMs
        settings.schedule.moveMs = 100
        settings.othersMax = othersMax
        return Follower(folder: version("folder"), compiled: "folder", settings: settings)
    }

    private func folder(_ id: Int64 = 1, seen: Int64 = 0) -> Deployment {
        Deployment(
            id: id, version: Self.version("folder"), origin: .folder, createdAtMs: 0, activeAtMs: nil, seenAtMs: seen)
    }

    private func deployed(_ id: Int64, _ name: String, active: Int64?) -> Deployment {
        Deployment(
            id: id, version: Self.version(name), origin: .deploy, createdAtMs: active ?? 0, activeAtMs: active,
            seenAtMs: 0)
    }

    private typealias Read = Result<DeploymentHistory, DeploymentsUnreadable>

    private func history(_ deployments: [Deployment], at nowMs: Int64 = 10) -> Read {
        .success(DeploymentHistory(deployments: deployments, nowMs: nowMs))
    }

    private static let away = DeploymentsUnreadable("away", isTransient: true)

    /// One word for each effect, with names instead of digests.
    private func words(_ effects: [Follower.Effect]) -> [String] {
        effects.map { effect in
            switch effect {
            case .readHistory: "read"
            case .noteFolder: "note"
            case .compile(_, let version): "compile \(name(version))"
            case .serve(_, let served):
                "serve "
                    + ([served.current] + served.others).map { $0.compiled + ($0.takesRequests ? "" : "-") }
                    .joined(separator: " ") + " @\(served.loadedDeployment)"
            case .reportProblem: "problem"
            case .endLook(let number, nil): "end \(number)"
            case .endLook(let number, .unreadable?): "unreadable \(number)"
            case .endLook(let number, .unservable?): "unservable \(number)"
            }
        }
    }

    private func name(_ version: Digest) -> String {
        ["folder", "first", "second", "third"].first { Self.version($0) == version } ?? "?"
    }

    private func call(_ effects: [Follower.Effect]) -> Follower.CallID {
        for effect in effects {
            switch effect {
            case .readHistory(let call), .noteFolder(let call), .compile(let call, _), .serve(let call, _): return call
            case .reportProblem, .endLook: continue
            }
        }
        Issue.record("no call in \(effects)")
        return 0
    }

    /// Makes a look at this history; versions in `broken` do not compile.
    private func look(
        _ follower: inout Follower, _ deployments: [Deployment], at nowMs: Int64 = 10, broken: Set<String> = []
    ) -> [String] {
        var effects = follower.look().effects
        var all = words(effects)
        effects = follower.historyRead(call(effects), history(deployments, at: nowMs))
        all += words(effects)
        while true {
            switch effects.last {
            case .compile(let call, let version)?:
                let name = name(version)
                effects = follower.compiled(call, broken.contains(name) ? .invalid(reason: "line 1") : .compiled(name))
            case .serve(let call, _)?: effects = follower.served(call)
            default: return all
            }
            all += words(effects)
        }
    }

    // MARK: Starting

    @Test func startNotesTheFolderAndServesIt() {
        var follower = Self.follower()
        var (number, effects) = follower.start()
        #expect(number == 1 && words(effects) == ["note"])
        effects = follower.folderNoted(call(effects), .success(()))
        #expect(words(effects) == ["read"])
        effects = follower.historyRead(call(effects), history([folder()]))
        #expect(words(effects) == ["serve folder @1"])
        #expect(words(follower.served(call(effects))) == ["end 1"])
        #expect(follower.problem.isEmpty && follower.staying == [Self.version("folder")])
        // The same again changes nothing.
        #expect(look(&follower, [folder()]) == ["read", "end 2"])
    }

    @Test func startEndsWithTheReasonThatNothingIsReadable() {
        var follower = Self.follower()
        let effects = follower.start().effects
        #expect(words(follower.folderNoted(call(effects), .failure(Self.away))) == ["unreadable 1"])
    }

    @Test func startServesTheDeployedVersionInsteadOfTheFolder() {
        var follower = Self.follower()
        #expect(
            look(&follower, [deployed(3, "first", active: 5)])
                == ["read", "compile first", "serve first @3", "end 1"])
    }

    // MARK: The folder's note

    @Test func folderIsNotedOnceALookAndOnlyBeforeTheFirstDeployment() {
        var follower = Self.follower()
        var effects = follower.look().effects
        effects = follower.historyRead(call(effects), history([]))
        #expect(words(effects) == ["note"])
        effects = follower.folderNoted(call(effects), .success(()))
        #expect(words(effects) == ["read"])
        // Still not there: it is not noted again in the same look.
        effects = follower.historyRead(call(effects), history([]))
        #expect(words(effects) == ["end 1"])
        #expect(look(&follower, [deployed(1, "first", active: 5)]).contains("note") == false)
    }

    @Test(arguments: [(Self.keepMs / 4, false), (Self.keepMs / 4 + 1, true)])
    func folderIsNotedAgainAfterAQuarterOfTheTimeThatItIsKept(ageMs: Int64, isNoted: Bool) {
        var follower = Self.follower()
        let effects = follower.look().effects
        let next = follower.historyRead(call(effects), history([folder(seen: 100)], at: 100 + ageMs))
        #expect((words(next) == ["note"]) == isNoted)
    }

    // MARK: Versions

    @Test func announcedVersionIsLoadedAndTakesNoRequests() {
        var follower = Self.follower()
        let announced = [folder(), deployed(2, "first", active: nil)]
        #expect(look(&follower, announced) == ["read", "compile first", "serve folder first- @2", "end 1"])
        // It is compiled once.
        let active = [folder(), deployed(2, "first", active: 20)]
        #expect(look(&follower, active, at: 20) == ["read", "serve first folder @2", "end 2"])
    }

    @Test func movingVersionTakesNoRequestsAndItsSessionsDoNotStay() {
        var follower = Self.follower()
        let rows = [deployed(1, "first", active: 0), deployed(2, "second", active: 10)]
        #expect(
            look(&follower, rows, at: 20)
                == ["read", "compile second", "compile first", "serve second first @2", "end 1"])
        #expect(follower.staying == [Self.version("first"), Self.version("second")])
        #expect(look(&follower, rows, at: 10 + Self.keepMs) == ["read", "serve second first- @2", "end 2"])
        #expect(follower.staying == [Self.version("second")])
        let goneMs = 10 + Self.keepMs + 200 + DeploymentSchedule.Settings().stragglerMs
        #expect(look(&follower, rows, at: goneMs) == ["read", "serve second @2", "end 3"])
        // It is compiled again when it is deployed again.
        let back = rows + [deployed(3, "first", active: goneMs)]
        #expect(look(&follower, back, at: goneMs).contains("compile first"))
    }

    @Test func oldestOfTooManyVersionsAreNotServed() {
        var follower = Self.follower(othersMax: 1)
        let rows = [
            deployed(1, "first", active: 0), deployed(2, "second", active: 5), deployed(3, "third", active: 10),
        ]
        #expect(
            look(&follower, rows) == ["read", "compile third", "compile second", "serve third second @3", "end 1"])
        #expect(follower.staying == [Self.version("second"), Self.version("third")])
    }

    // MARK: What does not compile

    @Test func brokenAnnouncementHoldsTheLoadedDeploymentBack() {
        var follower = Self.follower()
        let rows = [folder(), deployed(4, "first", active: nil)]
        #expect(
            look(&follower, rows, broken: ["first"]) == [
                "read", "compile first", "problem", "serve folder @3", "end 1",
            ])
        #expect(follower.problem.hasSuffix("cannot be compiled by this node: line 1"))
        // It is tried again with every look, and forgotten when it is withdrawn.
        #expect(look(&follower, rows, broken: ["first"]) == ["read", "compile first", "problem", "end 2"])
        #expect(look(&follower, [folder()]) == ["read", "serve folder @1", "end 3"])
        #expect(follower.problem.isEmpty)
    }

    @Test func brokenFormerVersionIsLeftOut() {
        var follower = Self.follower()
        let rows = [deployed(1, "first", active: 0), deployed(2, "second", active: 5)]
        #expect(
            look(&follower, rows, broken: ["first"])
                == ["read", "compile second", "compile first", "problem", "serve second @2", "end 1"])
    }

    @Test func brokenCurrentVersionLeavesWhatWasServed() {
        var follower = Self.follower()
        _ = look(&follower, [folder()])
        let rows = [folder(), deployed(2, "first", active: 5)]
        #expect(
            look(&follower, rows, broken: ["first"]) == ["read", "compile first", "problem", "unservable 2"])
        #expect(follower.staying == [Self.version("folder")] && !follower.problem.isEmpty)
    }

    @Test func versionThatIsNotStoredIsAProblem() {
        var follower = Self.follower()
        var effects = follower.look().effects
        effects = follower.historyRead(call(effects), history([folder(), deployed(2, "first", active: nil)]))
        effects = follower.compiled(call(effects), .notStored)
        #expect(words(effects) == ["problem", "serve folder @1"])
        #expect(follower.problem.hasSuffix("is not stored any more"))
    }

    // MARK: Answers

    @Test func unreadableDeploymentsChangeNothing() {
        var follower = Self.follower()
        var effects = follower.look().effects
        #expect(words(follower.historyRead(call(effects), .failure(Self.away))) == ["unreadable 1"])
        #expect(follower.problem == "away")
        effects = follower.look().effects
        effects = follower.historyRead(call(effects), history([folder(), deployed(2, "first", active: nil)]))
        #expect(words(follower.compiled(call(effects), .unreadable(Self.away))) == ["unreadable 2"])
    }

    @Test func lateAndDuplicateAnswersAreIgnored() {
        var follower = Self.follower()
        let first = follower.look().effects
        let rows = [folder(), deployed(2, "first", active: nil)]
        let compile = follower.historyRead(call(first), history(rows))
        // Again, and with what another call would have found.
        #expect(words(follower.historyRead(call(first), history([folder()]))).isEmpty)
        #expect(words(follower.folderNoted(call(compile), .success(()))).isEmpty)
        #expect(words(follower.compiled(call(first), .notStored)).isEmpty)
        let serve = follower.compiled(call(compile), .compiled("first"))
        #expect(words(serve) == ["serve folder first- @2"])
        #expect(words(follower.compiled(call(compile), .notStored)).isEmpty)
        #expect(words(follower.served(call(compile))).isEmpty)
        #expect(words(follower.served(call(serve))) == ["end 1"])
        #expect(words(follower.served(call(serve))).isEmpty)
        let second = follower.look().effects
        #expect(words(follower.historyRead(call(first), history([folder()]))).isEmpty)
        #expect(words(follower.historyRead(call(second), history(rows))) == ["end 2"])
    }

    @Test func looksDuringALookAreServedByOneMore() {
        var follower = Self.follower()
        let (first, effects) = follower.look()
        let (second, none) = follower.look()
        let (third, nothing) = follower.look()
        #expect([first, second, third] == [1, 2, 2] && none.isEmpty && nothing.isEmpty)
        let serve = follower.historyRead(call(effects), history([folder()]))
        #expect(words(serve) == ["serve folder @1"])
        // Until the versions are in service, the look goes on.
        let (fourth, still) = follower.look()
        #expect(fourth == 2 && still.isEmpty)
        let next = follower.served(call(serve))
        #expect(words(next) == ["end 1", "read"])
        #expect(words(follower.historyRead(call(next), history([folder()]))) == ["end 2"])
    }
}
