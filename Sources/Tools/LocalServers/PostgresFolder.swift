import Clocks
import Glibc

/// The data folder of a private Postgres: its layout, initialisation and recovery from a previous run. The caller holds
/// the folder's lock, so no other private server works in it.
struct PostgresFolder: Sendable {
    let root: String
    let cluster: String
    let log: String
    let password: String
    let postgres: String
    private let initdb: String
    private let user: UnixUser?

    init(root: String, programFolder: String? = nil) throws(LocalServerError) {
        self.root = root
        cluster = root + "/cluster"
        log = root + "/server.log"
        password = root + "/password"
        let version = Files.read(cluster + "/PG_VERSION")?.split(whereSeparator: \.isWhitespace).first.map(String.init)
        func find(_ name: String) throws(LocalServerError) -> String {
            try Programs.find(name, package: "postgresql", version: version, folder: programFolder)
        }
        postgres = try find("postgres")
        initdb = try find("initdb")
        user = try UnixUser.forPostgres(cluster: cluster)
    }

    func command(_ program: String, _ arguments: [String], parentDeathSignal: String) -> ChildProcess.Command {
        ChildProcess.Command(
            program: program, arguments: arguments, runAs: user.map { ($0.user, $0.group) }, logPath: log,
            workingFolder: cluster, parentDeathSignal: parentDeathSignal)
    }

    /// Initialises the cluster unless that has been done. Replaces a partial one left by a crash.
    func initialise(_ options: LocalPostgresOptions) async throws(LocalServerError) {
        let marker = root + "/initialised"
        try Files.makeFolder(cluster, mode: 0o700)
        if let user { try user.give(cluster) }
        try await checkReach(options)
        if Files.exists(marker) { return }

        if !Files.entries(cluster).isEmpty {
            guard Files.exists(password) else {
                throw LocalServerError(
                    .dataFolderUnusable,
                    "\(cluster) is not empty and was not created by freshet: choose another data folder")
            }
            _ = try await run("/bin/rm", ["-rf", "--"] + Files.entries(cluster).map { cluster + "/" + $0 }, options)
        }
        try Files.write(password, Self.randomPassword(), mode: 0o600)
        if let user { try user.give(password) }
        if let primary = options.primary {
            let copy = try Programs.find("pg_basebackup", package: "postgresql")
            guard
                try await run(
                    copy, ["-d", primary, "-D", cluster, "-R", "-X", "stream", "-c", "fast", "--no-sync"], options)
            else {
                throw LocalServerError(
                    .initialisationFailed, "pg_basebackup failed; its log is \(log)", logTail: Files.tail(log))
            }
            return try Files.write(marker, "", mode: 0o600)
        }
        var arguments = [
            "-D", cluster, "-U", LocalPostgres.user, "--encoding=UTF8", "--locale=C.UTF-8", "--auth-local=trust",
            "--auth-host=scram-sha-256", "--pwfile=\(password)", "--no-instructions",
        ]
        if !options.isDurable { arguments.append("--no-sync") }
        guard try await run(initdb, arguments, options) else {
            throw LocalServerError(
                .initialisationFailed, "initdb failed; its log is \(log)", logTail: Files.tail(log))
        }
        try Files.write(marker, "", mode: 0o600)
    }

    func promote(_ options: LocalPostgresOptions) async throws(LocalServerError) -> Bool {
        let control = try Programs.find("pg_ctl", package: "postgresql")
        return try await run(control, ["promote", "-D", cluster, "-w", "-t", "30"], options)
    }

    /// Waits for the server of a previous run, which may still be shutting down although its parent has ended, as our
    /// lock shows.
    func awaitEndOfPreviousServer() async throws(LocalServerError) {
        let deadline = Deadline(afterMs: 20_000)
        while let processID = runningServer() {
            guard !deadline.isReached else {
                throw LocalServerError(
                    .alreadyRunning, "a Postgres (process \(processID)) still runs in \(root): stop it first")
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Invalidates a `postmaster.pid` whose process id now belongs to another process, which would keep Postgres from
    /// starting. Only the id is replaced, by an impossible one: the rest tells Postgres whether children of the
    /// previous server still use the data.
    func clearForeignProcessID() throws(LocalServerError) {
        let path = cluster + "/postmaster.pid"
        guard let text = Files.read(path), runningServer() == nil else { return }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let processID = lines.first.flatMap({ Int32($0) }), kill(processID, 0) == 0 || errno == EPERM else {
            return
        }
        try Files.write(path, (["\(Int32.max)"] + lines.dropFirst()).joined(separator: "\n"), mode: 0o600)
        if let user { try user.give(path) }
    }

    /// Removes the socket lock files if no server runs, because they are stale then. Postgres itself looks only at the
    /// process id in them, which another process may have by now.
    func clearSocketFolder(_ path: String) {
        guard runningServer() == nil else { return }
        for name in Files.entries(path) where name.hasPrefix(".s.PGSQL.") { Files.remove(path + "/" + name) }
    }

    /// Returns the process in `postmaster.pid`, if it is a server that uses this folder.
    private func runningServer() -> Int? {
        guard let text = Files.read(cluster + "/postmaster.pid"),
            let processID = text.split(whereSeparator: \.isNewline).first.flatMap({ Int($0) }), processID > 0
        else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/\(processID)/cwd", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let folder = String(decoding: buffer[0..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return folder == cluster ? processID : nil
    }

    /// Creates the socket's folder, inside the data folder if the path fits into a socket address, otherwise in /tmp.
    func makeSocketFolder() throws(LocalServerError) -> (path: String, isTemporary: Bool) {
        let inside = root + "/socket"
        // The lock file beside the socket has the longest name; a loopback port has up to five digits.
        let fits = (inside + "/.s.PGSQL.65535.lock").utf8.count <= Addresses.socketPathBytesMax
        let path = fits ? inside : try Files.makeShortFolder()
        if fits { try Files.makeFolder(path, mode: 0o700) }
        if let user { try user.give(path) }
        return (path, !fits)
    }

    /// Checks that the other user can reach the folder, which is impossible below a folder like /root (0700); Postgres'
    /// own message would be obscure.
    private func checkReach(_ options: LocalPostgresOptions) async throws(LocalServerError) {
        guard let user else { return }
        var check = command("/usr/bin/test", ["-w", cluster], parentDeathSignal: "KILL")
        check.workingFolder = "/"
        let child = try await ChildProcess.start(check)
        if await child.waitForExit(timeoutMs: 10_000) == .code(0) { return }
        throw LocalServerError(
            .dataFolderUnusable,
            "Postgres does not run as root, and the user \(user.name) cannot enter \(root): "
                + "choose a data folder outside of private folders or run as an ordinary user")
    }

    private func run(
        _ program: String, _ arguments: [String], _ options: LocalPostgresOptions
    ) async throws(LocalServerError) -> Bool {
        let child = try await ChildProcess.start(command(program, arguments, parentDeathSignal: "KILL"))
        if let exit = await child.waitForExit(timeoutMs: options.startTimeoutMs) { return exit == .code(0) }
        await child.end([])
        return false
    }

    private static func randomPassword() -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        return String((0..<32).map { _ in digits[Int.random(in: 0..<digits.count)] })
    }
}
