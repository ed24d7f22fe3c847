import ChangeTailer
import JSON
import LiveModel
import RoleMachines
import Testing

@testable import Admin

/// The operators' view of the replication slot.
@Suite struct SlotViewTests {
    private typealias Slot = TailerMachine.Inspection.Slot

    private func view(
        _ slot: Slot?, obstacle: String? = nil, unpublished: [String] = [], tailer: TailerMachine.State? = nil
    ) -> JSONValue {
        let report = SlotReport(
            name: "freshet_app", slot: slot, obstacle: obstacle,
            publications: [
                .init(name: "freshet_changes", tables: ["bid", "lot"]),
                .init(name: "freshet_outbox", tables: ["freshet.outbox"]),
            ], unpublished: unpublished)
        return SlotView(report: report, tailer: tailer).json(of: NodeID("a"))
    }

    @Test func theTailerIsDescribedInWords() {
        #expect(SlotView.phrase(.reading(unpublished: ["lot"])) == "reading")
        #expect(SlotView.phrase(.standby(pid: 7)) == "standby behind pid 7")
        #expect(SlotView.phrase(.failing(reason: "no right")) == "failing: no right")
        #expect(SlotView.phrase(.idle) == "idle")
        #expect(SlotView.phrase(nil) == "the node does not have the role")
    }

    @Test func aSlotThatIsReadHasAllFigures() {
        let slot = Slot(
            health: .ok, reader: .init(pid: 7, silentMs: 120), confirmed: 0x1_0000_00A0, retainedBytes: 4_096,
            safeBytes: 1 << 30)
        let json = view(slot, tailer: .reading(unpublished: []))
        let expected: JSONValue = [
            "name": "freshet_app", "exists": true, "health": "ok", "activePid": 7, "silentMs": 120,
            "retainedBytes": 4_096, "safeBytes": .int(1 << 30), "confirmed": "1/A0",
        ]
        #expect(json["slot"] == expected)
        #expect(json["node"] == "a" && json["tailer"] == "reading" && json["obstacle"] == .null)
        #expect(json["publications"]?[0] == ["name": "freshet_changes", "tables": ["bid", "lot"]])
        #expect(json["publications"]?[1]?["tables"] == ["freshet.outbox"])
        #expect(json["unpublished"] == [])
    }

    @Test func aMissingSlotHasAHealthAndNoFigures() {
        let json = view(nil, obstacle: "run freshet migrate", unpublished: ["lot"])
        let expected: JSONValue = [
            "name": "freshet_app", "exists": false, "health": "missing", "activePid": .null, "silentMs": .null,
            "retainedBytes": .null, "safeBytes": .null, "confirmed": .null,
        ]
        #expect(json["slot"] == expected)
        #expect(json["obstacle"] == "run freshet migrate" && json["unpublished"] == ["lot"])
    }

    @Test func unknownsAreNull() {
        // The server's clock may lie behind the reader's last answer by a little.
        let silent = view(
            .init(health: .unreserved, reader: .init(pid: 7, silentMs: -1), confirmed: 0, retainedBytes: 1))
        #expect(silent["slot"]?["health"] == "unreserved" && silent["slot"]?["silentMs"] == 0)
        #expect(silent["slot"]?["safeBytes"] == .null && silent["slot"]?["confirmed"] == .null)
        let lost = view(.init(health: .lost, reader: nil, confirmed: 16, retainedBytes: 0))
        #expect(lost["slot"]?["health"] == "lost" && lost["slot"]?["activePid"] == .null)
        #expect(lost["slot"]?["confirmed"] == "0/10")
    }

    @Test func everyHealthOfASlotIsAHealth() {
        for health in Slot.Health.allCases {
            let slot = Slot(health: health, reader: nil, confirmed: 0, retainedBytes: 0)
            #expect(SlotHealth(slot).rawValue == health.rawValue)
        }
        #expect(SlotHealth(nil) == .missing)
        #expect(SlotHealth.allCases.count == Slot.Health.allCases.count + 1)
    }

    @Test func theSafeLogIsInfiniteWithoutALimitAndNothingForALostSlot() {
        func safe(_ health: Slot.Health, _ bytes: Int64?) -> Double {
            Slot(health: health, reader: nil, confirmed: 0, retainedBytes: 0, safeBytes: bytes).safeBytesOrInfinity
        }
        #expect(safe(.ok, 5) == 5 && safe(.unreserved, 0) == 0)
        #expect(safe(.ok, nil) == .infinity && safe(.lost, nil) == 0)
    }
}
