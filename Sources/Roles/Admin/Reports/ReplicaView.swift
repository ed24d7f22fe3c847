import JSON
import Postgres

/// A read replica in reports, and in words. Pure.
struct ReplicaView: Sendable, Hashable {
    let address: String
    let state: ReplicaReport.State
    let lagBytes: Int64?
    let lagMs: Int64?

    init(_ report: ReplicaReport) {
        (address, state, lagBytes, lagMs) = (report.address, report.state, report.lagBytes, report.lagMs)
    }

    /// A state that this release does not know, sent by another one, is `unknown`.
    init(json: JSONValue) {
        address = json["address"]?.stringValue ?? ""
        state = json["state"]?.stringValue.flatMap(ReplicaReport.State.init(rawValue:)) ?? .unknown
        lagBytes = json["lagBytes"]?.intValue
        lagMs = json["lagMs"]?.intValue
    }

    /// - Parameter node: the worker that asked.
    func json(seenBy node: String) -> JSONValue {
        [
            "address": .string(address), "state": .string(state.rawValue), "isUsed": .bool(state == .used),
            "lagBytes": lagBytes.map { .int($0) } ?? .null, "lagMs": lagMs.map { .int($0) } ?? .null,
            "problem": problem(seenBy: node).map { .string($0) } ?? .null,
        ]
    }

    /// Why re-runs do not use it; nil if they do, and if that is not known.
    /// - Parameter node: the worker that asked.
    func problem(seenBy node: String) -> String? {
        switch state {
        case .used, .unknown: nil
        case .behind:
            "The replica \(address) is \(lag) and not used: the primary runs its share, and results stay fresh."
        case .otherTimeline:
            "The replica \(address) is on another timeline than the primary and not used."
        case .notStandby: "\(address), a replica by the settings, takes writes itself and is not used."
        case .notConnected: "\(node) has no connection to the replica \(address)."
        }
    }

    private var lag: String {
        let time = lagMs.map { ", \($0 < 10_000 ? "\($0) ms" : "\($0 / 1_000) s")," } ?? ""
        guard let lagBytes else { return "behind\(time)" }
        let size = lagBytes < 1 << 20 ? "\((lagBytes + 1_023) >> 10) KiB" : "\(lagBytes >> 20) MiB"
        return "\(size)\(time) behind"
    }
}
