import ChangeTailer
import LiveModel
import TestSupport
import Testing

@testable import Admin

/// The end of the replication slot.
@Suite struct SlotRemainsTests {
    private static let own = ["freshet_changes", "freshet_outbox"].map {
        SlotRemains.Publication(name: $0, owner: "app", isOwn: true)
    }

    private func remains(
        slot: SlotRemains.Slot? = .init(isForeign: false), hasRecord: Bool = true,
        publications: [SlotRemains.Publication] = own, otherSlots: [String] = []
    ) -> SlotRemains {
        SlotRemains(
            name: "s", slot: slot, hasRecord: hasRecord, publications: publications, otherSlots: otherSlots)
    }

    private func refusal(_ remains: SlotRemains) -> SlotFailure? {
        failure { () throws(SlotFailure) in try remains.removal() }
    }

    @Test func everythingIsDropped() throws {
        let removal = try remains().removal()
        #expect(removal.dropsSlot && removal.publications == ["freshet_changes", "freshet_outbox"])
        #expect(
            removal.sentence
                == "dropped the replication slot s, the publications freshet_changes and freshet_outbox, its record")
        #expect(try remains(hasRecord: false, publications: []).removal().sentence == "dropped the replication slot s")
    }

    @Test func remainsWithoutASlotAreDropped() throws {
        let removal = try remains(slot: nil, hasRecord: false, publications: [Self.own[0]]).removal()
        #expect(!removal.dropsSlot && removal.publications == ["freshet_changes"])
        #expect(
            removal.sentence == "there was no replication slot s; dropped the publication freshet_changes")
    }

    @Test func nothingAtAllIsMissing() {
        let nothing = remains(slot: nil, hasRecord: false, publications: [])
        #expect(refusal(nothing) == SlotFailure(.missing, "there is no replication slot s"))
    }

    @Test func publicationsStayForOtherSlots() throws {
        var remains = remains(otherSlots: ["t"])
        remains.publications[0].isOwn = false
        let removal = try remains.removal()
        #expect(removal.dropsSlot && removal.publications.isEmpty)
        #expect(
            removal.sentence
                == "dropped the replication slot s, its record; the publications freshet_changes and freshet_outbox "
                + "stay for other replication slots: t")
        remains.slot = nil
        remains.hasRecord = false
        #expect(refusal(remains)?.kind == .missing)
    }

    @Test func publicationsOfAnotherRoleAreRefused() {
        var remains = remains()
        remains.publications[0] = .init(name: "freshet_changes", owner: "migrator", isOwn: false)
        let refusal = refusal(remains)
        #expect(refusal?.kind == .refused)
        #expect(
            refusal?.description
                == "the service's database role does not own the publication freshet_changes: drop what migrator owns "
                + "by hand (DROP PUBLICATION), then try again")
    }

    @Test func aForeignSlotIsRefused() {
        let refusal = refusal(remains(slot: .init(isForeign: true)))
        #expect(refusal?.kind == .refused && refusal?.description.contains("tailer.slot") == true)
    }

    @Test func everyFailureHasItsCode() {
        #expect(RequestError(SlotFailure(.missing, "m")) == RequestError(.notFound, "m"))
        #expect(RequestError(SlotFailure(.refused, "m")) == RequestError(.badRequest, "m"))
        #expect(RequestError(SlotFailure(.unavailable, "m")) == RequestError(.unavailable, "m"))
    }
}
