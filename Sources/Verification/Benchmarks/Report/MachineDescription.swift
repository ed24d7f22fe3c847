import FoundationEssentials
import Glibc

/// A description of the machine on which the benchmarks run.
package enum MachineDescription {
    package static var description: String {
        var system = utsname()
        uname(&system)
        let kernel = withUnsafeBytes(of: &system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let newest = "$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)"
        let lines = [
            ("CPU", "\(processor), \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) cores"),
            ("kernel", kernel),
            ("Swift", firstLine("swift --version 2>/dev/null")),
            ("Postgres", firstLine("PATH=\"\(newest):$PATH\" postgres --version 2>/dev/null")),
            ("Redis", firstLine("redis-server --version 2>/dev/null")),
            ("build", buildKind),
            ("commit", firstLine("git describe --always --dirty 2>/dev/null")),
            ("load average", loadAverage),
        ]
        return lines.map { "- \($0.0): \($0.1)" }.joined(separator: "\n")
    }

    /// The load average of the last 1, 5 and 15 minutes, which shows other work on the machine.
    package static var loadAverage: String {
        firstLine("cut -d ' ' -f 1-3 /proc/loadavg")
    }

    private static var buildKind: String {
        #if DEBUG
            "debug (numbers mean nothing)"
        #else
            "release"
        #endif
    }

    private static var processor: String {
        let cpus = firstLine("grep -m 1 'model name' /proc/cpuinfo")
        return cpus.split(separator: ":", maxSplits: 1).last.map { $0.trimming() } ?? "unknown"
    }

    private static func firstLine(_ command: String) -> String {
        Shell.output(of: command).split(separator: "\n").first.map { $0.trimming() } ?? "unknown"
    }
}

extension Substring {
    fileprivate func trimming() -> String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}

/// Runs shell commands; blocks the calling thread.
enum Shell {
    static func output(of command: String) -> String {
        guard let pipe = popen(command, "r") else { return "" }
        defer { pclose(pipe) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = fread(&chunk, 1, chunk.count, pipe)
            if count == 0 { break }
            bytes.append(contentsOf: chunk.prefix(count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
