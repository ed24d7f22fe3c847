import Glibc
import Threads
import Synchronization

/// A child process that does not outlive its parent and whose end can be awaited.
///
/// The kernel sends a child its "parent death signal" when the *thread* that created it ends. So each child has a
/// thread that creates it and then only waits for it: the thread lives as long as the child, or until the whole process
/// ends in any way. `setpriv` requests the signal in the child after changing the user, which would clear it. A shell
/// then checks that the parent was still alive at that time and executes the program.
///
/// The child has its own process group, so Ctrl-C in a terminal reaches only the parent, which ends its children in
/// order.
final class ChildProcess: Sendable {
    struct Command: Sendable {
        var program: String
        var arguments: [String]
        /// The user to run as; requires root.
        var runAs: (user: uid_t, group: gid_t)?
        /// The file to which standard output and error are appended.
        var logPath: String
        var workingFolder: String
        /// The signal's name without prefix: `INT`, `TERM` or `KILL`.
        var parentDeathSignal: String
        /// The environment in addition to `PATH` and `LC_ALL`; nothing else is inherited.
        var environment: [String: String] = [:]
    }

    enum Exit: Sendable, Hashable {
        case code(Int32)
        case signal(Int32)
    }

    private struct State {
        var exit: Exit?
        var waiters: [(id: Int, CheckedContinuation<Exit?, Never>)] = []
        var idsGiven = 0
        /// Waiters that timed out before they began to wait.
        var early: Set<Int> = []
    }

    let processID: pid_t
    private let state: Mutex<State>

    private init(processID: pid_t, state: consuming sending State) {
        self.processID = processID
        self.state = Mutex(state)
    }

    static func start(_ command: Command) async throws(LocalServerError) -> ChildProcess {
        let setpriv = try Programs.find("setpriv", package: "util-linux")
        let result: Result<ChildProcess, LocalServerError> = await withCheckedContinuation { continuation in
            let isStarted = startThread(named: "child-process") {
                switch spawn(command, setpriv: setpriv) {
                case .failure(let error):
                    continuation.resume(returning: .failure(error))
                case .success(let processID):
                    let child = ChildProcess(processID: processID, state: State())
                    continuation.resume(returning: .success(child))
                    child.waitOnThisThread()
                }
            }
            if !isStarted {
                let error = LocalServerError(.startFailed, "no thread could be started for \(command.program)")
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    var exit: Exit? { state.withLock { $0.exit } }

    /// Sends a signal unless the child has ended, because its process id may have been reused then.
    func signal(_ number: Int32) {
        state.withLock { if $0.exit == nil { kill(processID, number) } }
    }

    /// Sends a signal to the child, either before or after its own children.
    func signalFamily(_ number: Int32, parentFirst: Bool) {
        if parentFirst { signal(number) }
        state.withLock { state in
            guard state.exit == nil else { return }
            for child in Self.children(of: processID) { kill(child, number) }
        }
        if !parentFirst { signal(number) }
    }

    static func children(of parent: pid_t) -> [pid_t] {
        Files.entries("/proc").compactMap { pid_t($0) }.filter { number in
            // The format is "pid (name) state ppid …"; the name may contain any character.
            let text = Files.read("/proc/\(number)/stat") ?? ""
            let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && pid_t(fields[1]) == parent
        }
    }

    /// Waits for the child's end. Cancelling the task does not end the wait.
    /// - Returns: nil if the child still runs after that time.
    func waitForExit(timeoutMs: Int?) async -> Exit? {
        let id = state.withLock { state in
            state.idsGiven += 1
            return state.idsGiven
        }
        let timer = timeoutMs.map { timeoutMs in
            Task {
                try await Task.sleep(for: .milliseconds(timeoutMs))
                giveUp(id)
            }
        }
        defer { timer?.cancel() }
        return await withCheckedContinuation { continuation in
            let answer: Exit?? = state.withLock { state in
                let isEarly = state.early.remove(id) != nil
                if let exit = state.exit { return .some(exit) }
                if isEarly { return .some(nil) }
                state.waiters.append((id, continuation))
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Sends the signals in turn, waiting for the given time after each, until the child has ended.
    func end(_ steps: [(signal: Int32, waitMs: Int)]) async {
        for step in steps {
            signal(step.signal)
            if await waitForExit(timeoutMs: step.waitMs) != nil { return }
        }
        signal(SIGKILL)
        _ = await waitForExit(timeoutMs: 5_000)
    }

    private func giveUp(_ id: Int) {
        let waiter: CheckedContinuation<Exit?, Never>? = state.withLock { state in
            if let index = state.waiters.firstIndex(where: { $0.id == id }) { return state.waiters.remove(at: index).1 }
            if state.exit == nil { state.early.insert(id) }
            return nil
        }
        waiter?.resume(returning: nil)
    }

    private func waitOnThisThread() {
        // The child stays a zombie, and keeps its process id, until the lock is held: see `signal`.
        var info = siginfo_t()
        while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (exit, waiters) = state.withLock { state in
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0, errno == EINTR {}
            let exit: Exit = status & 0x7f == 0 ? .code((status >> 8) & 0xff) : .signal(status & 0x7f)
            state.exit = exit
            defer { state.waiters = [] }
            return (exit, state.waiters)
        }
        for (_, waiter) in waiters { waiter.resume(returning: exit) }
    }

    private typealias AddCloseFrom =
        @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    /// `posix_spawn_file_actions_addclosefrom_np`, which glibc has since 2.34 and does not show to Swift.
    private static let addCloseFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np")
        .map { unsafeBitCast($0, to: AddCloseFrom.self) }

    /// Closes files opened without close-on-exec, as NIO opens its sockets: the peer of a connection would not see that
    /// this process closes it. The child itself looks which there are, since other threads open some meanwhile.
    private static func closeFiles(_ actions: inout posix_spawn_file_actions_t) {
        if let addCloseFrom, addCloseFrom(&actions, 3) == 0 { return }
        for file in Files.entries("/proc/self/fd").compactMap({ Int32($0) }) where file > 2 {
            posix_spawn_file_actions_addclose(&actions, file)
        }
    }

    private static func spawn(_ command: Command, setpriv: String) -> Result<pid_t, LocalServerError> {
        var arguments = [setpriv, "--pdeathsig", command.parentDeathSignal]
        if let (user, group) = command.runAs {
            arguments += ["--reuid", String(user), "--regid", String(group), "--clear-groups"]
        }
        // The shell reads `$PPID` when it starts, which is after `setpriv` requested the signal.
        let becomeProgram = "[ \"$PPID\" = \"$0\" ] && cd \"$1\" && shift && exec \"$@\""
        arguments += ["--", "/bin/sh", "-c", becomeProgram, String(getpid()), command.workingFolder, command.program]
        arguments += command.arguments

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, command.logPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        closeFiles(&actions)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        var allSignals = sigset_t()
        sigfillset(&allSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setsigdefault(&attributes, &allSignals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        let pointers = arguments.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        // The parent's environment (PGPORT, PGDATA, LANGUAGE, …) must not affect a private server.
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let variables = ["PATH": path, "LC_ALL": "C"].merging(command.environment) { $1 }
        let environment = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in environment { free(pointer) } }
        var processID: pid_t = 0
        let problem = posix_spawn(&processID, setpriv, &actions, &attributes, pointers + [nil], environment)
        guard problem == 0 else {
            let reason = String(cString: strerror(problem))
            return .failure(LocalServerError(.startFailed, "cannot start \(command.program): \(reason)"))
        }
        return .success(processID)
    }
}
