import Foundation

/// Where things of this checkout are.
enum Paths {
    /// The package's root: this file is four levels below it.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    static let auctions = root + "/config/auctions"

    /// The built program; it stands beside the test bundle.
    static let freshet: String = {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("freshet").path
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
            folder = folder.deletingLastPathComponent()
        }
        return root + "/.build/debug/freshet"
    }()
}
