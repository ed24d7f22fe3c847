import Foundation
package import LocalServers

/// A server on this machine whose clock is that of another one.
package enum WrongClock {
    private static let library: String = {
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: program ?? "").deletingLastPathComponent().path + "/libWrongClock.so"
    }()

    /// What makes a program's clock so far ahead: for its environment.
    /// - Throws: `programMissing` when the product `WrongClock` was not built beside this program.
    package static func environment(byMs errorMs: Int) throws(LocalServerError) -> [String: String] {
        if errorMs == 0 { return [:] }
        guard FileManager.default.isReadableFile(atPath: library) else {
            throw LocalServerError(.programMissing, "\(library) is not there: swift build --product WrongClock")
        }
        return ["LD_PRELOAD": library, "WRONG_CLOCK_MS": String(errorMs)]
    }
}
