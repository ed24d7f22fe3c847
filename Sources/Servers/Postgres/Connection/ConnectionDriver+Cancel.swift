import CLibpq
import Synchronization
import Threads

/// The cancelling part of the driver.
extension ConnectionDriver {
    /// Cancels on a new thread, because `PQcancel` opens another connection and blocks.
    /// - Returns: false when the thread could not be started.
    func startCancelRequest() -> Bool {
        guard let request = connection?.cancelHandle() else { return false }
        guard counters.cancelThreads.load(ordering: .relaxed) < ConnectionCounters.cancelThreadsMax else {
            PQfreeCancel(request)
            return false
        }
        counters.cancelThreads.wrappingAdd(1, ordering: .relaxed)
        // The thread owns the handle and frees it.
        nonisolated(unsafe) let owned = request
        let (handle, generation) = (handle, machine.generation)
        let isStarted = startThread(named: "postgres-cancel") {
            _ = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { PQcancel(owned, $0.baseAddress, 256) }
            PQfreeCancel(owned)
            handle.counters.cancelThreads.wrappingSubtract(1, ordering: .relaxed)
            handle.post(.cancelRequestEnded(generation: generation))
        }
        if isStarted {
            counters.cancelRequests.wrappingAdd(1, ordering: .relaxed)
        } else {
            PQfreeCancel(request)
            counters.cancelThreads.wrappingSubtract(1, ordering: .relaxed)
        }
        return isStarted
    }
}
