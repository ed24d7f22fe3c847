import Glibc
import Synchronization

/// A program that is restarted whenever it ends until `stop()`, as by systemd or a container runtime. It lives only as
/// long as this process.
package final class SupervisedProgram: Sendable {
    /// The pause before a restart.
    package static let restartAfterMs = 2_000

    package struct Command: Sendable {
        package var name: String
        package var program: String
        package var arguments: [String]
        /// The environment in addition to `PATH` and `LC_ALL`.
        package var environment: [String: String]
        /// The file for standard output and error; the previous run's is kept with the suffix `.1`.
        package var logPath: String
        /// The signal that the program gets when this process ends: `KILL`, or `TERM` for one that must then end
        /// children of its own.
        package var parentDeathSignal: String

        package init(
            name: String, program: String, arguments: [String], environment: [String: String] = [:], logPath: String,
            parentDeathSignal: String = "KILL"
        ) {
            self.name = name
            self.program = program
            self.arguments = arguments
            self.environment = environment
            self.logPath = logPath
            self.parentDeathSignal = parentDeathSignal
        }
    }

    package let command: Command
    private let state = Mutex(State())

    private struct State {
        var child: ChildProcess?
        var isStopping = false
        var supervisor: Task<Void, Never>?
    }

    private init(_ command: Command) {
        self.command = command
    }

    /// - Parameter onEnd: called after each unrequested end with a description, such as "signal 9".
    package static func start(
        _ command: Command, onEnd: @escaping @Sendable (SupervisedProgram, String) -> Void
    ) async throws(LocalServerError) -> SupervisedProgram {
        let supervised = SupervisedProgram(command)
        Files.rotateLog(command.logPath)
        let child = try await supervised.launch()
        let task = Task { await supervised.supervise(child, onEnd) }
        supervised.state.withLock { $0.supervisor = task }
        return supervised
    }

    /// The process id while it runs.
    package var processID: Int32? { state.withLock { $0.child.flatMap { $0.exit == nil ? $0.processID : nil } } }

    /// The last lines of its log.
    package var logTail: [String] { Files.tail(command.logPath) }

    package func signal(_ number: Int32) {
        state.withLock { $0.child }?.signal(number)
    }

    /// Stops the program (SIGTERM); kills it after `waitMs`. Can be called again.
    package func stop(waitMs: Int) async {
        let (child, supervisor) = state.withLock { state in
            state.isStopping = true
            return (state.child, state.supervisor)
        }
        // Ends the pause before a restart.
        supervisor?.cancel()
        await child?.end([(SIGTERM, waitMs)])
        await supervisor?.value
    }

    private func launch() async throws(LocalServerError) -> ChildProcess {
        let child = try await ChildProcess.start(
            ChildProcess.Command(
                program: command.program, arguments: command.arguments, runAs: nil, logPath: command.logPath,
                workingFolder: try Files.absolute("."), parentDeathSignal: command.parentDeathSignal,
                environment: command.environment))
        let isLate = state.withLock { state in
            state.child = child
            return state.isStopping
        }
        // `stop` was called during the start.
        if isLate { child.signal(SIGTERM) }
        return child
    }

    private func supervise(
        _ first: ChildProcess, _ onEnd: @Sendable (SupervisedProgram, String) -> Void
    ) async {
        var child: ChildProcess? = first
        while true {
            if let running = child {
                let exit = await running.waitForExit(timeoutMs: nil)
                if state.withLock({ $0.isStopping }) { return }
                onEnd(self, exit.map(Self.words) ?? "unknown")
            }
            try? await Task.sleep(for: .milliseconds(Self.restartAfterMs))
            if state.withLock({ $0.isStopping }) { return }
            // If it cannot be started, try again after the next pause.
            child = try? await launch()
        }
    }

    private static func words(_ exit: ChildProcess.Exit) -> String {
        switch exit {
        case .code(let code): "exit code \(code)"
        case .signal(let number): "signal \(number)"
        }
    }
}
