import Cluster
import LiveModel
import Sharding
import Testing

@Suite struct RevocationRefreshTests {
    private func list(_ mark: String?, _ uids: [String]) -> StoredRevocations {
        StoredRevocations(mark: mark, revocations: Revocations(uids.map { Revocation(.uid($0), atMs: 1) }))
    }

    /// A copy as of generation 1.
    private func copy(_ known: StoredRevocations) -> LatestRead<StoredRevocations> {
        LatestRead(known, generation: 1)
    }

    /// The fields that the list lacks; nil if it is accepted as it is.
    private func written(_ refresh: inout RevocationRefresh, _ stored: StoredRevocations) -> [String]? {
        guard case .write(let changes) = refresh.listRead(stored, newMark: "new", nowMs: 2) else { return nil }
        return changes.map { "\($0.field)" + ($0.field == StoredRevocations.markField ? "=\($0.value ?? "")" : "") }
    }

    @Test func aCopyOfTheSameGenerationIsNotRead() {
        var latest = copy(list("m", ["ann"]))
        let same = RevocationRefresh(&latest, generation: 1)
        let other = RevocationRefresh(&latest, generation: 2)
        let isRead = [same, other].map { $0 != nil }
        #expect(isRead == [false, true])
    }

    @Test(
        arguments: [
            // Lifted meanwhile, by the mark that the node knows.
            ("m", ["ann"], "m", [], nil),
            ("m", ["ann"], "m", ["ann", "bob"], nil),
            // The list is new.
            ("m", ["ann"], "n", ["bob"], ["uid:ann"]),
            ("m", ["ann"], nil, [], ["uid:ann", "mark=m"]),
            (nil, [], nil, ["bob"], ["mark=new"]),
            (nil, [], nil, [], nil),
        ] as [(String?, [String], String?, [String], [String]?)])
    func aListWithoutTheKnownMarkIsCompleted(
        _ mark: String?, _ known: [String], _ storedMark: String?, _ stored: [String], _ changes: [String]?
    ) throws {
        var latest = copy(list(mark, known))
        var refresh = try #require(RevocationRefresh(&latest, generation: 2))
        let missing = written(&refresh, list(storedMark, stored))
        #expect(missing == changes)
    }

    @Test func aListIsCompletedOnce() throws {
        var latest = copy(list("m", ["ann"]))
        var refresh = try #require(RevocationRefresh(&latest, generation: 2))
        let steps = (0..<2).map { _ in written(&refresh, list(nil, [])) }
        #expect(steps == [["uid:ann", "mark=m"], nil])
    }

    @Test(arguments: [(["ann"], false), ([], true), (["ann", "bob"], true)] as [([String], Bool)])
    func anotherListIsAChange(_ stored: [String], _ isChange: Bool) throws {
        var latest = copy(list("m", ["ann"]))
        let refresh = try #require(RevocationRefresh(&latest, generation: 2))
        let hasChanged = refresh.end(&latest, list("m", stored), generation: 2)
        #expect(hasChanged == isChange && Set(latest.value.revocations.entries.keys) == Set(stored.map { .uid($0) }))
        let again = RevocationRefresh(&latest, generation: 2)
        let isCurrent = again == nil
        #expect(isCurrent)
    }

    @Test func aRefreshBegunEarlierDoesNotReplaceALaterOne() throws {
        var latest = copy(list("m", []))
        let (earlier, later) = (
            try #require(RevocationRefresh(&latest, generation: 2)),
            try #require(RevocationRefresh(&latest, generation: 3))
        )
        let haveChanged = [
            later.end(&latest, list("m", ["ann"]), generation: 3), earlier.end(&latest, list("m", []), generation: 2),
        ]
        #expect(haveChanged == [true, false] && latest.value.revocations.entries.count == 1)
    }
}
