import Foundation
import Synchronization

/// A `freshet` child process of the test. Its output is gathered line by line.
final class FreshetProcess: Sendable {
    private struct State {
        var lines: [String] = []
        var partial = ""
        var waiters: [(needle: String, continuation: CheckedContinuation<String?, Never>)] = []
        var hasEnded = false
        var exitCode: Int32?
        var exitWaiters: [CheckedContinuation<Int32, Never>] = []
    }

    private let process: Process
    private let state = Mutex(State())

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: Paths.freshet)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: Paths.root)
        var all = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FRESHET_") }
        all.merge(environment) { $1 }
        process.environment = all
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.arrived(String(decoding: data, as: UTF8.self))
        }
        process.terminationHandler = { [weak self] process in self?.ended(process.terminationStatus) }
        try process.run()
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

    private func ended(_ code: Int32) {
        let (waiters, exitWaiters) = state.withLock { state in
            defer {
                state.waiters = []
                state.exitWaiters = []
            }
            state.hasEnded = true
            state.exitCode = code
            return (state.waiters, state.exitWaiters)
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
        for waiter in exitWaiters { waiter.resume(returning: code) }
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
