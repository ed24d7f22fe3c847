import DequeModule
package import JSON

/// One entry of a user's flight recorder.
package struct FlightEntry: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// A session signed in with this user's token, or an HTTP session began.
        case began
        /// The session has a new token.
        case renewed
        case expired
        case followed
        case left
        case delivered
        /// A request, a subscription or a token was refused.
        case refused
        /// A live query's run failed.
        case failed
        case ended
    }

    package var atMs: Int64
    package var kind: Kind
    /// `NODE/ID`
    package var session: String
    /// The query; empty if it is about the session as a whole.
    package var operation: String
    /// Deliveries that this entry stands for.
    package var count: Int
    /// Bytes of their results.
    package var bytes: Int
    /// A few words: the client, the reason, the error.
    package var details: JSONObject

    package init(
        atMs: Int64, _ kind: Kind, session: String, operation: String = "", count: Int = 0, bytes: Int = 0,
        details: JSONObject = [:]
    ) {
        self.atMs = atMs
        self.kind = kind
        self.session = session
        self.operation = operation
        self.count = count
        self.bytes = bytes
        self.details = details
    }

    package func json(on node: String) -> JSONValue {
        var object: JSONObject = [
            "atMs": .int(atMs), "node": .string(node), "kind": .string(kind.rawValue), "session": .string(session),
        ]
        if !operation.isEmpty { object["operation"] = .string(operation) }
        if kind == .delivered {
            object["count"] = .int(Int64(count))
            object["bytes"] = .int(Int64(bytes))
        }
        for member in details.entries { object[member.key] = member.value }
        return .object(object)
    }
}

/// The flight recorders of a node: what happens to the sessions of some users, for a time. Bounded by users and by
/// entries of each: the newest replace the oldest.
struct FlightRecorders: Sendable {
    struct Flight: Sendable {
        fileprivate(set) var sinceMs: Int64
        fileprivate(set) var untilMs: Int64
        fileprivate(set) var dropped = 0
        fileprivate var entries = Deque<FlightEntry>()
        var all: [FlightEntry] { Array(entries) }
        var count: Int { entries.count }
    }

    private var flights: [String: Flight] = [:]
    private let usersMax: Int
    private let entriesMax: Int
    private let keptMs: Int64

    /// Deliveries of one live query to one session within this time are one entry.
    static let deliveriesMs: Int64 = 1_000

    /// - Parameter keptMs: how long entries stay after the end.
    init(usersMax: Int, entriesMax: Int, keptMs: Int64) {
        self.usersMax = usersMax
        self.entriesMax = entriesMax
        self.keptMs = keptMs
    }

    var count: Int { flights.count }
    var untilMs: Int64? { flights.values.map(\.untilMs).max() }
    var isOn: Bool { !flights.isEmpty }
    func flight(of uid: String) -> Flight? { flights[uid] }

    mutating func arm(_ uid: String, forMs: Int64, nowMs: Int64) {
        if flights[uid] == nil, flights.count >= usersMax,
            let oldest = flights.min(by: { $0.value.untilMs < $1.value.untilMs })?.key
        {
            flights[oldest] = nil
        }
        let untilMs = max(nowMs + forMs, flights[uid]?.untilMs ?? 0)
        flights[uid, default: Flight(sinceMs: nowMs, untilMs: 0)].untilMs = untilMs
    }

    mutating func disarm(_ uid: String? = nil) {
        if let uid { flights[uid] = nil } else { flights = [:] }
    }

    mutating func expire(nowMs: Int64) {
        for (uid, flight) in flights where flight.untilMs + keptMs <= nowMs { flights[uid] = nil }
    }

    mutating func add(_ entry: FlightEntry, of uid: String) {
        guard let place = flights.index(forKey: uid), entry.atMs < flights.values[place].untilMs else { return }
        if entry.kind == .delivered, let last = flights.values[place].entries.last, last.kind == .delivered,
            last.session == entry.session, last.operation == entry.operation,
            entry.atMs - last.atMs < Self.deliveriesMs
        {
            var sum = last
            sum.count += entry.count
            sum.bytes += entry.bytes
            flights.values[place].entries[flights.values[place].entries.count - 1] = sum
            return
        }
        flights.values[place].entries.append(entry)
        if flights.values[place].entries.count > entriesMax {
            flights.values[place].entries.removeFirst()
            flights.values[place].dropped += 1
        }
    }
}
