import JSON
import LiveModel
import Testing

@Suite struct RevocationTests {
    private let nowMs: Int64 = 1_700_000_000_000

    private func auth(_ uid: String, _ claims: JSONObject = [:]) -> Auth { Auth(uid: uid, token: claims) }

    @Test func aUserATokenOrAKeyIsRevoked() throws {
        let list = Revocations([
            Revocation(.uid("ann"), atMs: nowMs), Revocation(.tokenID("t1"), atMs: nowMs),
            Revocation(.apiKey("web"), atMs: nowMs),
        ])
        func isRevoked(_ auth: Auth?, apiKey: String? = nil) -> Bool {
            list.revocation(of: auth, apiKey: apiKey, nowMs: nowMs) != nil
        }
        #expect(isRevoked(auth("ann")) && !isRevoked(auth("bob")) && !isRevoked(nil))
        #expect(isRevoked(auth("bob", ["jti": "t1"])) && isRevoked(auth("bob", ["origin_jti": "t1"])))
        #expect(!isRevoked(auth("bob", ["jti": "ann"])) && !isRevoked(auth("t1")), "kinds are apart")
        #expect(isRevoked(nil, apiKey: "web") && !isRevoked(nil, apiKey: "ann"))
    }

    @Test func aRevocationEndsAtItsTime() throws {
        let list = Revocations([Revocation(.uid("ann"), atMs: nowMs, untilMs: nowMs + 1_000)])
        #expect(list.revocation(of: auth("ann"), apiKey: nil, nowMs: nowMs + 999) != nil)
        #expect(list.revocation(of: auth("ann"), apiKey: nil, nowMs: nowMs + 1_000) == nil)
    }

    @Test func laterTokensAreAdmittedIfTheRevocationSparesThem() throws {
        let list = Revocations([Revocation(.uid("ann"), atMs: nowMs + 500, sparesLaterTokens: true)])
        func isRevoked(_ iat: JSONValue?) -> Bool {
            var claims = JSONObject()
            if let iat { claims["iat"] = iat }
            return list.revocation(of: auth("ann", claims), apiKey: nil, nowMs: nowMs + 5_000) != nil
        }
        #expect(isRevoked(.int(nowMs / 1_000 - 1)) && isRevoked(.int(nowMs / 1_000)), "of the same second")
        #expect(!isRevoked(.int(nowMs / 1_000 + 1)))
        #expect(isRevoked(nil) && isRevoked("tomorrow"), "without a time it counts as earlier")
    }

    @Test func theTextIsReadAsItWasWritten() throws {
        for revocation in [
            Revocation(.uid("a b:c ü"), atMs: 1), Revocation(.tokenID("x"), atMs: 1, untilMs: 2),
            Revocation(.apiKey("k"), atMs: 3, untilMs: nil, sparesLaterTokens: true),
        ] {
            let subject = try #require(RevocationSubject(revocation.subject.description))
            var defects = StoredDefects()
            #expect(Revocation(subject, text: revocation.text, defects: &defects) == revocation)
            #expect(defects.isEmpty)
        }
        for text in ["", "1", "1 -", "x - all", "1 x all", "1 - some", "1 - all more"] {
            var defects = StoredDefects()
            #expect(Revocation(.uid("a"), text: text, defects: &defects) == nil, "\(text)")
            #expect(defects.count == 1)
        }
        for text in ["", "uid", "uid:", "name:a", "uid:" + String(repeating: "x", count: 257)] {
            #expect(RevocationSubject(text) == nil, "\(text)")
        }
    }

    @Test(
        arguments: [
            ("9223372036854775807 - all", StoredNumber.timeMaxMs, nil, 1),
            ("-9223372036854775808 9223372036854775807 all", 0, StoredNumber.timeMaxMs, 2),
            ("1 -9223372036854775808 earlier", 1, 0, 1),
        ] as [(String, Int64, Int64?, Int)])
    func timesOutOfRangeAreClampedAndCounted(_ text: String, atMs: Int64, untilMs: Int64?, count: Int) throws {
        var defects = StoredDefects()
        let revocation = try #require(Revocation(.uid("a"), text: text, defects: &defects))
        #expect(revocation.atMs == atMs && revocation.untilMs == untilMs && defects.count == count)
    }

    @Test func theListCountsWhatNoNodeWrites() {
        let stored = StoredRevocations(fields: [
            "mark": "m", "uid:ann": "1 - all", "uid:bob": "x", "name:eve": "1 - all",
            "uid:max": "1 9223372036854775807 all",
        ])
        #expect(stored.revocations.entries.count == 2 && stored.defects.count == 3)
    }

    // MARK: Changes by operators

    private func text(_ changes: [(field: String, value: String?)]) -> [String] {
        changes.map { "\($0.field)=\($0.value ?? "")" }
    }

    @Test func addingARevocationRemovesThoseThatHaveExpired() throws {
        let known = StoredRevocations(
            revocations: Revocations([
                Revocation(.uid("ann"), atMs: 1, untilMs: 5), Revocation(.uid("bob"), atMs: 1, untilMs: 5),
                Revocation(.uid("eve"), atMs: 1),
            ]))
        let changes = try known.adding(Revocation(.uid("bob"), atMs: 5), countMax: 2, nowMs: 5)
        #expect(text(changes) == ["uid:ann=", "uid:bob=5 - all"])
        #expect(text(try known.adding(Revocation(.uid("max"), atMs: 4), countMax: 4, nowMs: 4)) == ["uid:max=4 - all"])
    }

    @Test func fullListTakesOnlyChangesOfItsEntries() throws {
        let known = stored("m", ["ann", "bob"])
        let error = #expect(throws: RequestError.self) {
            try known.adding(Revocation(.uid("eve"), atMs: 2), countMax: 2, nowMs: 2)
        }
        #expect(error?.code == .limitExceeded)
        #expect(text(try known.adding(Revocation(.uid("ann"), atMs: 2), countMax: 2, nowMs: 2)) == ["uid:ann=2 - all"])
    }

    @Test func revocationThatExistsIsLifted() throws {
        #expect(text(try stored("m", ["ann"]).lifting(.uid("ann"))) == ["uid:ann="])
        let error = #expect(throws: RequestError.self) { try stored("m", ["ann"]).lifting(.uid("bob")) }
        #expect(error?.code == .notFound)
    }

    // MARK: A list that was lost

    private func stored(_ mark: String?, _ uids: [String]) -> StoredRevocations {
        StoredRevocations(mark: mark, revocations: Revocations(uids.map { Revocation(.uid($0), atMs: 1) }))
    }

    @Test func aListWithTheSameMarkIsBelieved() {
        #expect(stored("m", []).missing(from: stored("m", ["ann"]), newMark: "n", nowMs: 2).isEmpty)
        #expect(stored("m", ["bob"]).missing(from: stored("m", ["ann"]), newMark: "n", nowMs: 2).isEmpty)
        #expect(stored(nil, []).missing(from: stored(nil, []), newMark: "n", nowMs: 2).isEmpty)
    }

    @Test func revocationsThatANewListLacksAreWrittenBack() {
        let known = StoredRevocations(
            mark: "m",
            revocations: Revocations([
                Revocation(.uid("ann"), atMs: 1), Revocation(.uid("bob"), atMs: 1),
                Revocation(.uid("old"), atMs: 1, untilMs: 2),
            ]))
        let flushed = stored(nil, []).missing(from: known, newMark: "n", nowMs: 2)
        #expect(flushed.map(\.field) == ["uid:ann", "uid:bob", "mark"] && flushed.last?.value == "m")
        let begunAnew = stored("n", ["bob"]).missing(from: known, newMark: "x", nowMs: 2)
        #expect(begunAnew.map(\.field) == ["uid:ann"], "its mark stays")
        let first = stored(nil, ["ann"]).missing(from: stored(nil, []), newMark: "n", nowMs: 2)
        #expect(first.map(\.field) == ["mark"] && first.first?.value == "n")
    }
}
