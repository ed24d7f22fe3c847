import Glibc

/// The CPU time of all processes and of the machine at one moment, from `/proc`.
struct ProcessTimes: Sendable {
    let at: Double
    /// User and system time of the whole machine, and what its host took from it. Interrupts are not included, because
    /// they belong to no process.
    let machineSeconds: Double
    private var parents: [Int32: Int32] = [:]
    /// User and system time of each process, with that of children that ended.
    private var seconds: [Int32: Double] = [:]

    static func now() -> ProcessTimes { ProcessTimes() }

    private init() {
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        at = Clock.now
        // "cpu" user nice system idle iowait irq softirq steal
        let total = Self.read("/proc/stat").prefix { $0 != "\n" }.split(separator: " ").compactMap { Double($0) }
        machineSeconds = total.count < 8 ? 0 : (total[0] + total[1] + total[2] + total[7]) / ticks
        for process in Self.processes() {
            // "pid (name) state ppid …"; the name may contain any character.
            let text = Self.read("/proc/\(process)/stat")
            guard let end = text.lastIndex(of: ")") else { continue }
            let fields = text[text.index(after: end)...].split(separator: " ")
            guard fields.count > 14, let parent = Int32(fields[1]) else { continue }
            parents[process] = parent
            seconds[process] = fields[11...14].reduce(0) { $0 + (Double($1) ?? 0) } / ticks
        }
    }

    /// Returns the CPU seconds of a process and of its descendants.
    func family(_ root: Int32) -> Double {
        seconds.reduce(0) { $0 + (belongs($1.key, to: root) ? $1.value : 0) }
    }

    private func belongs(_ process: Int32, to root: Int32) -> Bool {
        var process = process
        while process != root {
            guard let parent = parents[process], parent > 0 else { return false }
            process = parent
        }
        return true
    }

    private static func processes() -> [Int32] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let number = Int32(name) { found.append(number) }
        }
        return found
    }

    private static func read(_ path: String) -> String {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

/// The CPU time that a measurement took, by whom.
struct PeerCPU: Sendable {
    let seconds: Double
    /// The server's process with its children; clients and publishers are other processes.
    let server: Double
    /// Postgres and Redis, where the server uses them.
    let helpers: [(name: String, seconds: Double)]
    /// The cores that other work on the machine used.
    let foreignCores: Double

    init(_ peer: RunningPeer, from start: ProcessTimes, to end: ProcessTimes) {
        func used(_ process: Int32) -> Double { end.family(process) - start.family(process) }
        seconds = end.at - start.at
        server = used(peer.process)
        helpers = peer.helpers.map { ($0.name, used($0.process)) }
        let foreign = end.machineSeconds - start.machineSeconds - used(getpid())
        foreignCores = max(0, foreign / seconds)
    }
}
