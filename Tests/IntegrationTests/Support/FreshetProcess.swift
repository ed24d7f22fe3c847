import Foundation
import Synchronization

/// A `freshet` child process of the test. Its output is gathered line by line.
final class FreshetProcess: Sendable {
    private struct State {
        var lines: [String] = []
        var partial = ""
        var waiters: [(needle: String, continuation: CheckedContinuation<String?, Never>)] = []
        /// The end is told when both are there: the last lines can arrive after the process has gone.
        var hasOutputEnded = false
        var terminationStatus: Int32?
        var hasEnded: Bool { hasOutputEnded && terminationStatus != nil }
        var exitCode: Int32? { hasEnded ? terminationStatus : nil }
        var exitWaiters: [CheckedContinuation<Int32, Never>] = []
    }

    private let process: Process
    private let state = Mutex(State())

    /// - Parameter executable: another program than freshet.
    init(
        _ arguments: [String], environment: [String: String] = [:], executable: String = Paths.freshet
    ) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: Paths.root)
        var all = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FRESHET_") }
        all.merge(environment) { $1 }
        process.environment = all
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.terminationHandler = { [weak self] process in
            let status = process.terminationStatus
            self?.ended { $0.terminationStatus = status }
        }
        try process.run()
        // A thread of its own: FileHandle's handlers miss the end now and then.
        let reading = output.fileHandleForReading
        Thread.detachNewThread { [self] in
            while case let data = reading.availableData, !data.isEmpty {
                arrived(String(decoding: data, as: UTF8.self))
            }
            ended { $0.hasOutputEnded = true }
        }
    }

    private func arrived(_ text: String) {
        let found: [(CheckedContinuation<String?, Never>, String)] = state.withLock { state in
            state.partial += text
            var found: [(CheckedContinuation<String?, Never>, String)] = []
            while let end = state.partial.firstIndex(of: "\n") {
                let line = String(state.partial[..<end])
                state.partial = String(state.partial[state.partial.index(after: end)...])
                state.lines.append(line)
                state.waiters.removeAll { waiter in
                    guard line.contains(waiter.needle) else { return false }
                    found.append((waiter.continuation, line))
                    return true
                }
            }
            return found
        }
        for (continuation, line) in found { continuation.resume(returning: line) }
    }

    private func ended(_ change: (inout State) -> Void) {
        let last: State? = state.withLock { state in
            change(&state)
            guard state.hasEnded else { return nil }
            defer {
                state.waiters = []
                state.exitWaiters = []
            }
            return state
        }
        guard let last, let code = last.exitCode else { return }
        for waiter in last.waiters { waiter.continuation.resume(returning: nil) }
        for waiter in last.exitWaiters { waiter.resume(returning: code) }
    }

    /// The first line that contains `needle`, past or to come.
    /// - Throws: when the process ends without one; the output is in the error.
    func line(containing needle: String) async throws -> String {
        let line: String? = await withCheckedContinuation { continuation in
            let known: String?? = state.withLock { state in
                if let line = state.lines.first(where: { $0.contains(needle) }) { return .some(line) }
                if state.hasEnded { return .some(nil) }
                state.waiters.append((needle, continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        guard let line else { throw UnexpectedEnd(output: output) }
        return line
    }

    var output: String { state.withLock { ($0.lines + [$0.partial]).joined(separator: "\n") } }

    func waitForExit() async -> Int32 {
        await withCheckedContinuation { continuation in
            let code: Int32? = state.withLock { state in
                if let code = state.exitCode { return code }
                state.exitWaiters.append(continuation)
                return nil
            }
            if let code { continuation.resume(returning: code) }
        }
    }

    var processID: Int32 { process.processIdentifier }

    func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// SIGKILL, as a crash.
    func crash() async {
        signal(SIGKILL)
        _ = await waitForExit()
    }

    /// SIGTERM, an orderly end.
    @discardableResult
    func terminate() async -> Int32 {
        signal(SIGTERM)
        return await waitForExit()
    }
}

struct UnexpectedEnd: Error, CustomStringConvertible {
    let output: String
    var description: String { "freshet ended early; its output:\n\(output)" }
}
