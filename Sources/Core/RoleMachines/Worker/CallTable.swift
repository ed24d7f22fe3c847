/// The calls in flight, each with its purpose. An id is used once.
struct CallTable: Sendable {
    private var purposes: [WorkerMachine.CallID: WorkerMachine.PendingCall] = [:]
    private var lastNumber: UInt64 = 0

    var count: Int { purposes.count }
    var hasReleases: Bool { purposes.values.contains(where: \.isRelease) }
    /// Whether a drain has calls to wait for.
    var hasHandOvers: Bool { purposes.values.contains(where: \.isHandOver) }

    mutating func begin(_ purpose: WorkerMachine.PendingCall) -> WorkerMachine.CallID {
        lastNumber += 1
        let id = WorkerMachine.CallID(number: lastNumber)
        purposes[id] = purpose
        return id
    }

    /// Removes a call and returns its purpose; nil if it is not in flight.
    mutating func end(_ id: WorkerMachine.CallID) -> WorkerMachine.PendingCall? { purposes.removeValue(forKey: id) }
}
