import Clocks
import Pacing

extension ChildProcess {
    /// Returns when the server is ready.
    /// - Parameters:
    ///   - timeoutMs: the time before `deadline` that the start was given; for the message.
    ///   - isReady: probes the server once.
    /// - Throws: `.startFailed` with the end of the log when the process ends, or is not ready at the deadline.
    func awaitReady(
        _ server: String, log: String, until deadline: Deadline, timeoutMs: Int,
        _ isReady: () async throws(LocalServerError) -> Bool
    ) async throws(LocalServerError) {
        let pauses = Backoff(minMs: 2, maxMs: 200)
        var attempts = 0
        while true {
            if let exit {
                throw LocalServerError(
                    .startFailed, "\(server) ended while starting (\(exit)); its log is \(log)",
                    logTail: Files.tail(log))
            }
            if try await isReady() { return }
            guard !deadline.isReached, !Task.isCancelled else {
                throw LocalServerError(
                    .startFailed, "\(server) is not ready after \(timeoutMs) ms; its log is \(log)",
                    logTail: Files.tail(log))
            }
            _ = await waitForExit(timeoutMs: Int(pauses.delayMs(after: attempts)))
            attempts += 1
        }
    }
}
