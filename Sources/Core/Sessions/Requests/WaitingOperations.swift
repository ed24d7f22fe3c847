package import LiveModel

/// The one-shot operations of one session that wait, in order, until others have finished. Bounds: their number, and
/// the bytes of their variables; one more is refused. Generic over what waits, which it never touches.
package struct WaitingOperations<Operation> {
    private struct Entry {
        let id: String
        let operation: Operation
        let bytes: Int
    }

    private var entries: [Entry] = []
    private var bytes = 0
    private let countMax: Int
    private let bytesMax: Int

    package init(countMax: Int, bytesMax: Int) {
        self.countMax = countMax
        self.bytesMax = bytesMax
    }

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }

    /// - Throws: `.limitExceeded` if there is no room.
    package mutating func append(_ id: String, _ operation: Operation, bytes: Int) throws(RequestError) {
        guard entries.count < countMax, entries.isEmpty || self.bytes + bytes <= bytesMax else {
            throw RequestError(.limitExceeded, "too many operations wait on this connection for others to finish")
        }
        entries.append(Entry(id: id, operation: operation, bytes: bytes))
        self.bytes += bytes
    }

    /// The operation that has waited longest; nil if none waits.
    package var first: (id: String, operation: Operation)? { entries.first.map { ($0.id, $0.operation) } }

    /// Removes the operation that has waited longest.
    package mutating func removeFirst() { bytes -= entries.removeFirst().bytes }

    /// Removes an operation that its client gave up.
    package mutating func giveUp(_ id: String) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        bytes -= entries.remove(at: index).bytes
    }

    package mutating func removeAll() { (entries, bytes) = ([], 0) }
}
