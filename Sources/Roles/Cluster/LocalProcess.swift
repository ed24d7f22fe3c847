import Glibc
package import LiveModel

/// Tells whether a node's process on this machine still runs, by its id and start time in `/proc`.
package enum LocalProcess {
    /// This process; nil if the system does not reveal it.
    package static let own = identity(of: getpid())

    /// Identifies a process of this machine; nil if there is none or the system does not reveal it.
    package static func identity(of processID: Int32) -> ProcessIdentity? {
        guard let machine, isOwnProc, let stat = Stat(of: processID) else { return nil }
        return ProcessIdentity(machine: machine, processID: processID, startTicks: stat.startTicks)
    }

    /// Whether the process certainly has ended. False for a process of another machine, and when in doubt.
    @Sendable package static func hasEnded(_ process: ProcessIdentity) -> Bool {
        guard process.machine == machine, isOwnProc else { return false }
        if kill(process.processID, 0) != 0, errno == ESRCH { return true }
        guard let stat = Stat(of: process.processID) else { return false }
        return stat.startTicks != process.startTicks || stat.isZombie
    }

    /// Whether `/proc` shows the process ids of this process's own namespace.
    private static let isOwnProc = link(at: "/proc/self") == "\(getpid())"

    /// The name of the scope in which a process id and start time identify a process: the boot, the namespaces of
    /// process ids and of times, and the host, because a copied virtual machine has the same boot. The kernel reuses
    /// a namespace's number only after all its processes have ended.
    private static let machine: String? = {
        guard let boot = text(at: "/proc/sys/kernel/random/boot_id"), let processes = link(at: "/proc/self/ns/pid")
        else { return nil }
        var host = [CChar](repeating: 0, count: 256)
        guard gethostname(&host, host.count - 1) == 0 else { return nil }
        let name = String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let parts = [boot, processes, link(at: "/proc/self/ns/time") ?? "", name]
        return String(Digest(of: parts.joined(separator: "\n").utf8).hex.prefix(32))
    }()

    /// The fields of `/proc/PID/stat` that matter here (proc_pid_stat(5)).
    private struct Stat {
        let startTicks: UInt64
        /// Whether the process has ended but its parent has not collected its status yet.
        let isZombie: Bool

        init?(of processID: Int32) {
            // The program's name, in parentheses, may contain anything.
            guard let text = LocalProcess.text(at: "/proc/\(processID)/stat"), let end = text.lastIndex(of: ")")
            else { return nil }
            let fields = text[text.index(after: end)...].split(separator: " ")
            guard fields.count > 19, let threads = Int(fields[17]), let startTicks = UInt64(fields[19])
            else { return nil }
            self.startTicks = startTicks
            // The main thread may exit first; then the process looks like a zombie while other threads run.
            isZombie = ["Z", "X"].contains(fields[0]) && threads <= 1
        }
    }

    /// Returns the beginning of a file in `/proc`.
    private static func text(at path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 2_048)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }

    private static func link(at path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = bytes.withUnsafeMutableBytes {
            readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
