import Foundation

/// How much longer than in the tests random runs are: `make fuzz-machines`.
package enum FuzzLength {
    package static let factor = max(1, Int(ProcessInfo.processInfo.environment["FRESHET_FUZZ_FACTOR"] ?? "1") ?? 1)
}
