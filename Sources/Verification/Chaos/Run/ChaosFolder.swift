import Foundation

/// Where a run keeps its servers' data and everybody's logs.
struct ChaosFolder: Sendable {
    /// Says that a folder is of a run like this.
    private static let markName = "seed.txt"

    let path: String
    let seed: UInt64

    /// Only what an earlier run left is removed.
    func empty() throws {
        let files = FileManager.default
        let mark = path + "/" + Self.markName
        let isOurs = files.fileExists(atPath: mark)
        if let names = try? files.contentsOfDirectory(atPath: path), !names.isEmpty, !isOurs {
            throw ChaosError("\(path) is not empty and not of an earlier run")
        }
        if isOurs { try files.removeItem(atPath: path) }
        try files.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("seed \(seed)\n".utf8).write(to: URL(fileURLWithPath: mark))
    }

    /// Logs as they are now, in a folder of the round's own.
    func keepLogs(_ round: ChaosReport.Round) {
        let folder = "\(path)/misses/round-\(round.number)"
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for name in ChaosCluster.names + ["haproxy"] {
            try? FileManager.default.copyItem(atPath: "\(path)/\(name).log", toPath: "\(folder)/\(name).log")
        }
        let text = "seed \(seed), \(Date())\n\(round.text)\n"
        try? Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/round.txt"))
    }
}
