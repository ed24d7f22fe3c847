import Synchronization

/// The subjects that limits per address count: what an address stands for. Without a subject there is no limit.
package struct AddressSubjects: Sendable {
    /// The subject of a connection, by its peer's address. A proxy has none, since its connections carry many clients.
    let peer: @Sendable (_ address: String) -> String?
    /// The subject of a request, by its peer's address and its `X-Forwarded-For`.
    package let client: @Sendable (_ address: String, _ forwarded: String?) -> String?

    package init(
        peer: @escaping @Sendable (String) -> String?, client: @escaping @Sendable (String, String?) -> String?
    ) {
        self.peer = peer
        self.client = client
    }
}

/// The open connections of each address. Bounded by the connections of the server.
final class ConnectionCounts: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    /// Counts a connection that has opened.
    /// - Returns: the number of open connections of its address.
    func add(_ subject: String) -> Int {
        counts.withLock { counts in
            let count = (counts[subject] ?? 0) + 1
            counts[subject] = count
            return count
        }
    }

    func remove(_ subject: String) {
        counts.withLock { counts in
            guard let count = counts[subject] else { preconditionFailure("\(subject) has no connections") }
            counts[subject] = count > 1 ? count - 1 : nil
        }
    }
}
