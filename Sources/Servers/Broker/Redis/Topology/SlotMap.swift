import Streams
/// The primary of each slot of a Redis Cluster, as reported by one of its nodes
/// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
struct SlotMap: Sendable, Equatable {
    typealias Endpoint = RedisConfiguration.Endpoint

    static let slotCount = 16_384

    /// The primaries; `owners` holds indices into this.
    private(set) var primaries: [Endpoint] = []
    private(set) var replicas: [Endpoint] = []
    /// Index of each slot's primary; -1: none.
    private var owners = [Int16](repeating: -1, count: SlotMap.slotCount)

    init() {}

    /// Decodes the reply to `CLUSTER SLOTS` of the node at `asked`; nil if it is malformed. A node that does not know
    /// its own address leaves the host empty, which means the host of `asked`.
    init?(_ reply: RedisValue, asked: Endpoint) {
        guard let ranges = reply.array else { return nil }
        for range in ranges {
            guard let parts = range.array, parts.count >= 3, let first = parts[0].integer, let last = parts[1].integer,
                first <= last, (0..<SlotMap.slotCount).contains(first), (0..<SlotMap.slotCount).contains(last),
                let primary = SlotMap.endpoint(parts[2], asked: asked)
            else { return nil }
            let number = number(of: primary)
            for slot in first...last { owners[slot] = number }
            for part in parts[3...] {
                guard let replica = SlotMap.endpoint(part, asked: asked), !replicas.contains(replica) else { continue }
                replicas.append(replica)
            }
        }
    }

    private static func endpoint(_ node: RedisValue, asked: Endpoint) -> Endpoint? {
        guard let parts = node.array, parts.count >= 2, let port = parts[1].integer, (1...65_535).contains(port) else {
            return nil
        }
        let host = parts[0].text ?? ""
        if !host.isEmpty, host != "?" { return .tcp(host: host, port: port) }
        guard case .tcp(let askedHost, _) = asked else { return nil }
        return .tcp(host: askedHost, port: port)
    }

    private mutating func number(of primary: Endpoint) -> Int16 {
        if let index = primaries.firstIndex(of: primary) { return Int16(index) }
        primaries.append(primary)
        return Int16(clamping: primaries.count - 1)
    }

    func owner(of slot: Int) -> Endpoint? {
        let number = Int(owners[slot])
        return number < 0 ? nil : primaries[number]
    }

    /// Applies one node's redirection of one slot, until the next complete map.
    mutating func move(_ slot: Int, to primary: Endpoint) {
        owners[slot] = number(of: primary)
    }

    var isEmpty: Bool { primaries.isEmpty }

    /// Whether a primary of this map is none in `next`: then a node that may lack some of its writes has taken over its
    /// slots.
    func isFailover(to next: SlotMap) -> Bool {
        !isEmpty && !Set(primaries).isSubset(of: next.primaries)
    }
}

/// The place to send a command that a node refused.
enum Redirection: Sendable, Equatable {
    /// Permanently to another node, which owns the slot.
    case moved(slot: Int, RedisConfiguration.Endpoint)
    /// Once to another node, after `ASKING`: the key is being moved there.
    case ask(RedisConfiguration.Endpoint)
    /// Nowhere for now: the cluster is electing, a slot's keys are on both nodes, or a node is loading.
    case later

    /// Decodes an error reply of the node at `asked`; nil if it is not a redirection.
    init?(_ failure: RedisFailure, asked: RedisConfiguration.Endpoint) {
        switch failure.word {
        case "MOVED", "ASK":
            let words = failure.message.split(separator: " ")
            guard words.count >= 3, let slot = Int(words[1]), (0..<SlotMap.slotCount).contains(slot),
                let target = Redirection.endpoint(words[2], asked: asked)
            else { return nil }
            self = failure.word == "ASK" ? .ask(target) : .moved(slot: slot, target)
        case "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY": self = .later
        default: return nil
        }
    }

    /// Decodes `host:port`. An IPv6 host has no brackets; an empty host means the node that answered.
    private static func endpoint(
        _ text: Substring, asked: RedisConfiguration.Endpoint
    ) -> RedisConfiguration.Endpoint? {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        let host = String(text[..<colon])
        if !host.isEmpty { return .tcp(host: host, port: port) }
        guard case .tcp(let askedHost, _) = asked else { return nil }
        return .tcp(host: askedHost, port: port)
    }
}

/// Returns the slot of a key: the CRC-16 (XMODEM) of its hash tag, modulo the number of slots.
func hashSlot(of key: String) -> Int {
    var crc: UInt16 = 0
    for byte in hashTag(of: key) {
        crc ^= UInt16(byte) << 8
        for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
    return Int(crc) % SlotMap.slotCount
}
