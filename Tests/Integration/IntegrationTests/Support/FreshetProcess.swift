import Foundation
import Synchronization
import TestSupport

/// A `freshet` child process of the test. Its output is gathered line by line.
final class FreshetProcess: Sendable {
    private struct State {
        var lines: [String] = []
        var partial = ""
        var waiters: [(id: Int, needle: String, continuation: CheckedContinuation<String?, Never>)] = []
        /// The end is reported when both are there: the last lines can arrive after the process has gone.
        var hasOutputEnded = false
        var terminationStatus: Int32?
        var hasEnded: Bool { hasOutputEnded && terminationStatus != nil }
        var exitCode: Int32? { hasEnded ? terminationStatus : nil }
        var exitWaiters: [(id: Int, continuation: CheckedContinuation<Int32?, Never>)] = []
        var idsGiven = 0
    }

    private let process: Process
    private let state = Mutex(State())

    /// - Parameter executable: another program than freshet.
    init(
        _ arguments: [String], environment: [String: String] = [:], executable: String = Repository.freshet
    ) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: Repository.root)
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
        try process.runWithSignals()
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
        for waiter in last.exitWaiters { waiter.continuation.resume(returning: code) }
    }

    /// The first line that contains `needle`, past or to come.
    /// - Throws: when the process ends without one, or the task is cancelled; the output is in the error.
    func line(containing needle: String) async throws -> String {
        let id = nextID()
        let line: String? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: String?? = state.withLock { state in
                    if let line = state.lines.first(where: { $0.contains(needle) }) { return .some(line) }
                    if state.hasEnded || Task.isCancelled { return .some(nil) }
                    state.waiters.append((id, needle, continuation))
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            giveUp(id)
        }
        guard let line else { throw UnexpectedEnd(output: output) }
        return line
    }

    private func nextID() -> Int {
        state.withLock { state in
            state.idsGiven += 1
            return state.idsGiven
        }
    }

    private func giveUp(_ id: Int) {
        let (line, exit) = state.withLock { state in
            let line = state.waiters.first { $0.id == id }?.continuation
            let exit = state.exitWaiters.first { $0.id == id }?.continuation
            state.waiters.removeAll { $0.id == id }
            state.exitWaiters.removeAll { $0.id == id }
            return (line, exit)
        }
        line?.resume(returning: nil)
        exit?.resume(returning: nil)
    }

    var output: String { state.withLock { ($0.lines + [$0.partial]).joined(separator: "\n") } }

    /// The result of `waitForExit` when its task was cancelled before the end.
    static let notWaitedFor: Int32 = .min

    func waitForExit() async -> Int32 {
        let id = nextID()
        return await withTaskCancellationHandler {
            await exitCode(id, isCancellable: true)
        } onCancel: {
            giveUp(id)
        } ?? Self.notWaitedFor
    }

    private func exitCode(_ id: Int, isCancellable: Bool) async -> Int32? {
        await withCheckedContinuation { continuation in
            let known: Int32?? = state.withLock { state in
                if let code = state.exitCode { return .some(code) }
                if isCancellable, Task.isCancelled { return .some(nil) }
                state.exitWaiters.append((id, continuation))
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    var processID: Int32 { process.processIdentifier }

    func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    /// SIGKILL, as a crash.
    func crash() async {
        signal(SIGKILL)
        // No process may be left, even when the test's time limit ends it.
        _ = await exitCode(nextID(), isCancellable: false)
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
