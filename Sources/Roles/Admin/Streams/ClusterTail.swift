import HTTPServer
import Inspection
import JSON
import LiveModel
import NIOCore
import ServerSentEvents

/// The tails of other nodes in the stream of one. A node that cannot be reached, falls silent or goes away is named in
/// the stream (`node`), and asked again while the cluster's list has it. Each has its own connection and bounds, so no
/// node waits for another.
struct ClusterTail: Sendable {
    /// The time between two looks at the list of nodes, and before a node is asked again.
    private static let lookMs: Int64 = 2_000
    /// The time without a byte after which a node is silent: it sends something every 15 seconds.
    private static let silentMs: Int64 = 35_000

    /// The longest event; a longer one ends the stream.
    private static let eventBytesMax = 1 << 20

    private struct TooLong: Error {}

    let peers: PeerReports
    let query: [(name: String, value: String)]
    /// The node whose entries are wanted; nil: all.
    let only: NodeID?

    /// Follows the nodes until the task is cancelled.
    func run(into stream: TailStream) async {
        var following: [PeerPlan.Peer: Task<Void, Never>] = [:]
        defer { for task in following.values { task.cancel() } }
        var unreachable: Set<NodeID> = []
        while !Task.isCancelled {
            // Without the list, those that are followed go on.
            if let plan = try? await peers.streams(only: only) {
                // A node that comes back at another address is another peer.
                for (peer, task) in following where !plan.peers.contains(peer) {
                    task.cancel()
                    following[peer] = nil
                    Self.tell(stream, peer.node, "gone", "it is not in the cluster's list any more")
                }
                for peer in plan.peers where following[peer] == nil {
                    following[peer] = Task { await follow(peer, stream) }
                }
                for node in plan.unreachable where !unreachable.contains(node.node) {
                    Self.tell(stream, node.node, "unreachable", node.reason)
                }
                unreachable = Set(plan.unreachable.map(\.node))
            }
            try? await Task.sleep(for: .milliseconds(Self.lookMs))
        }
    }

    private static func tell(_ stream: TailStream, _ node: NodeID, _ state: String, _ reason: String? = nil) {
        var json: JSONObject = ["node": .string(node.name), "state": .string(state)]
        json["reason"] = reason.map(JSONValue.string)
        stream.offer("node", json, TailStream.Source(node))
    }

    /// Follows one node, again after each end. The stream says once that it is lost, and that it is back.
    private func follow(_ peer: PeerPlan.Peer, _ stream: TailStream) async {
        let source = TailStream.Source(peer.node)
        var told = ""
        while !Task.isCancelled {
            let joined = Joined()
            let reason = await withTaskGroup(of: String.self) { group in
                group.addTask {
                    var parser = ServerSentEventParser(bytesMax: Self.eventBytesMax)
                    return await peers.follow(peer, "/admin/v1/tail", query: query) { part in
                        if joined.heard() { Self.tell(stream, peer.node, "joined") }
                        for event in parser.feed(part.readableBytesView) {
                            guard let json = (try? JSONValue(parsing: event.data))?.objectValue else { continue }
                            stream.offer(event.name, json, source)
                        }
                        if parser.isTooLarge { throw TooLong() }
                    }
                }
                group.addTask { await joined.silence(afterMs: Self.silentMs) }
                defer { group.cancelAll() }
                return await group.next() ?? ""
            }
            if Task.isCancelled { return }
            if joined.isHeard { told = "" }
            if reason != told { Self.tell(stream, peer.node, "lost", reason) }
            told = reason
            try? await Task.sleep(for: .milliseconds(Self.lookMs))
        }
    }
}
