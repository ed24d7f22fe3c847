import Foundation

/// The folder of a run's data and logs.
struct ChaosFolder: Sendable {
    /// The file that marks the folder of a run.
    private static let markName = "seed.txt"

    let path: String
    let seed: UInt64

    /// Empties the folder, but only if it belongs to an earlier run.
    func empty() throws {
        let files = FileManager.default
        let mark = path + "/" + Self.markName
        let isOurs = files.fileExists(atPath: mark)
        if let names = try? files.contentsOfDirectory(atPath: path), !names.isEmpty, !isOurs {
            throw ChaosError("\(path) is not empty and does not belong to an earlier run")
        }
        if isOurs { try files.removeItem(atPath: path) }
        try files.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("seed \(seed)\n".utf8).write(to: URL(fileURLWithPath: mark))
    }

    /// Returns a copy of a project all of whose queries refresh by the database's log.
    func projectFollowingTheLog(_ project: String) throws -> String {
        let copy = path + "/project"
        try FileManager.default.copyItem(atPath: project, toPath: copy)
        try Data("automatic: all\nsource: both\n".utf8).write(to: URL(fileURLWithPath: copy + "/refresh.yaml"))
        return copy
    }

    /// Copies the current logs to a folder of the round.
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
