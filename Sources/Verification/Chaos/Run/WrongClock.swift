import Foundation
package import LocalServers

/// Runs a server with a clock that differs from this machine's.
package enum WrongClock {
    private static let library: String = {
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: program ?? "").deletingLastPathComponent().path + "/libWrongClock.so"
    }()

    /// Returns the environment that makes a program's clock run ahead.
    /// - Throws: `programMissing` if the product `WrongClock` was not built beside this program.
    package static func environment(byMs errorMs: Int) throws(LocalServerError) -> [String: String] {
        if errorMs == 0 { return [:] }
        guard FileManager.default.isReadableFile(atPath: library) else {
            throw LocalServerError(.programMissing, "\(library) does not exist; run swift build --product WrongClock")
        }
        return ["LD_PRELOAD": library, "WRONG_CLOCK_MS": String(errorMs)]
    }
}
