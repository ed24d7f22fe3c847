/// Messages of one client that wait, in order, until its token is verified. Bound: `bytesMax` as received, or a single
/// message of any allowed size; the machine bounds their number.
struct WaitingMessages<Message: Sendable>: Sendable {
    private let bytesMax: Int
    private var entries: [(message: Message, bytes: Int)] = []

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    var count: Int { entries.count }
    var first: Message? { entries.first?.message }

    func contains(where fits: (Message) -> Bool) -> Bool { entries.contains { fits($0.message) } }

    /// - Returns: false if there is no room.
    mutating func append(_ message: Message, bytes: Int) -> Bool {
        guard entries.isEmpty || entries.reduce(bytes, { $0 + $1.bytes }) <= bytesMax else { return false }
        entries.append((message, bytes))
        return true
    }

    /// - Returns: all messages, which are removed.
    @discardableResult
    mutating func removeAll(where fits: (Message) -> Bool) -> [Message] {
        let removed = entries.filter { fits($0.message) }
        // A new array, which holds no room.
        entries = removed.isEmpty ? entries : entries.filter { !fits($0.message) }
        return removed.map(\.message)
    }

    mutating func takeAll() -> [(message: Message, bytes: Int)] {
        defer { entries = [] }
        return entries
    }

    mutating func removeFirst() -> (message: Message, bytes: Int)? {
        if entries.count == 1 { return takeAll()[0] }
        return entries.isEmpty ? nil : entries.removeFirst()
    }
}
