@testable import LocalServers

/// A process that is gone or a zombie counts as ended.
func hasEnded(_ processID: Int32) -> Bool {
    guard let status = Files.read("/proc/\(processID)/stat") else { return true }
    return status.split(separator: ")").last?.split(separator: " ").first == "Z"
}
