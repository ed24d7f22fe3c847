import ChangeTailer
import JSON
import LiveModel
import RoleMachines

/// The replication slot as operators see it, from what the database reports and what this node does.
struct SlotView: Sendable {
    let report: SlotReport
    /// The state of this node's tailer; nil if the node has none.
    let tailer: TailerMachine.State?

    /// Describes the state of a node's tailer in words.
    static func phrase(_ state: TailerMachine.State?) -> String {
        switch state {
        case .idle: "idle"
        case .standby(let pid): "standby behind pid \(pid)"
        case .reading: "reading"
        case .failing(let reason): "failing: \(reason)"
        case nil: "the node does not have the role"
        }
    }

    func json(of node: NodeID) -> JSONValue {
        [
            "node": .string(node.name), "tailer": .string(Self.phrase(tailer)), "slot": slot,
            "obstacle": report.obstacle.map { .string($0) } ?? .null,
            "publications": .array(
                report.publications.map {
                    ["name": .string($0.name), "tables": .array($0.tables.map(JSONValue.string))]
                }),
            "unpublished": .array(report.unpublished.map(JSONValue.string)),
        ]
    }

    private var slot: JSONValue {
        let slot = report.slot
        // A slot that was never confirmed has the position 0.
        let confirmed = slot.flatMap { $0.confirmed == 0 ? nil : ChangeSlot.text($0.confirmed) }
        return [
            "name": .string(report.name), "exists": .bool(slot != nil),
            "health": .string(SlotHealth(slot).rawValue),
            "activePid": slot?.reader.map { .int(Int64($0.pid)) } ?? .null,
            "silentMs": slot?.reader.map { .int(max(0, $0.silentMs)) } ?? .null,
            "retainedBytes": slot.map { .int($0.retainedBytes) } ?? .null,
            "safeBytes": slot?.safeBytes.map { .int($0) } ?? .null,
            "confirmed": confirmed.map { .string($0) } ?? .null,
        ]
    }
}
