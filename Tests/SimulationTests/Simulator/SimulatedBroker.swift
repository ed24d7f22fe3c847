import LiveModel
import Sharding

/// What the cluster needs of Redis: streams with ids and bounded lengths, leases with epochs, nodes with a life time.
final class SimulatedBroker {
    typealias Fields = [(String, [UInt8])]

    struct Entry {
        let id: StreamID
        let fields: Fields
    }

    private struct Stream {
        var entries: [Entry] = []
        var lastID = StreamID.zero
        /// Everything up to here was trimmed.
        var trimmed = StreamID.zero
    }

    struct Node {
        let role: String
        let untilMs: Int64
    }

    /// A reader's view of a stream since its cursor.
    enum Signal { case trimmed, regressed }

    private let timeline: Timeline
    private var streams: [String: Stream] = [:]
    private var leases: [ShardID: (owner: NodeID, epoch: UInt64, untilMs: Int64)] = [:]
    private var nodes: [NodeID: Node] = [:]
    private var orderFields: [String: (version: UInt64, value: String)] = [:]
    private var generation: UInt64 = 0
    private(set) var isUp = true
    /// Called when there may be something new to read.
    var changed: (String?) -> Void = { _ in }

    init(timeline: Timeline) {
        self.timeline = timeline
    }

    func goDown() { isUp = false }

    func comeUp(withData: Bool) {
        isUp = true
        if !withData { (streams, leases, nodes, orderFields, generation) = ([:], [:], [:], [:], 0) }
        changed(nil)
    }

    // MARK: Streams

    func append(_ name: String, _ fields: Fields, lengthMax: Int) {
        var stream = streams[name] ?? Stream()
        let fresh = StreamID(ms: UInt64(timeline.nowMs), sequence: 0)
        let id = fresh > stream.lastID ? fresh : stream.lastID.successor ?? .max
        stream.entries.append(Entry(id: id, fields: fields))
        stream.lastID = id
        if stream.entries.count > lengthMax { stream.trimmed = stream.entries.removeFirst().id }
        streams[name] = stream
        changed(name)
    }

    func lastID(of name: String) -> StreamID { streams[name]?.lastID ?? .zero }

    func entries(of name: String) -> [Entry] { streams[name]?.entries ?? [] }

    /// What stands after `cursor`, and whether something before it was missed.
    func read(_ name: String, after cursor: StreamID) -> (signal: Signal?, entries: [Entry]) {
        let stream = streams[name] ?? Stream()
        if stream.lastID < cursor { return (.regressed, stream.entries) }
        return (stream.trimmed > cursor ? .trimmed : nil, stream.entries.filter { $0.id > cursor })
    }

    // MARK: Leases

    func acquire(_ shard: ShardID, owner: NodeID, ttlMs: Int64) -> UInt64? {
        let nowMs = timeline.nowMs
        if let lease = leases[shard], lease.owner != owner, lease.untilMs > nowMs { return nil }
        let epoch = max((leases[shard]?.epoch ?? 0) + 1, UInt64(nowMs))
        leases[shard] = (owner, epoch, nowMs + ttlMs)
        return epoch
    }

    func renew(_ shard: ShardID, epoch: UInt64, ttlMs: Int64) -> Bool {
        guard let lease = leases[shard], lease.epoch == epoch, lease.untilMs > timeline.nowMs else { return false }
        leases[shard]?.untilMs = timeline.nowMs + ttlMs
        return true
    }

    func release(_ shard: ShardID, epoch: UInt64) {
        if leases[shard]?.epoch == epoch { leases[shard]?.untilMs = 0 }
    }

    // MARK: Orders

    var orders: Orders { Orders(generation: generation, fields: orderFields) }

    func change(_ change: OrderChange) {
        generation = max(generation + 1, UInt64(timeline.nowMs))
        orderFields[change.field] = change.value.map { (generation, $0) }
    }

    // MARK: Nodes

    func announce(_ id: NodeID, role: String, ttlMs: Int64) {
        nodes[id] = Node(role: role, untilMs: timeline.nowMs + ttlMs)
    }

    func withdraw(_ id: NodeID) { nodes[id] = nil }

    func nodes(role: String) -> [NodeID] {
        nodes.filter { $0.value.role == role && $0.value.untilMs > timeline.nowMs }.keys.sorted()
    }
}
