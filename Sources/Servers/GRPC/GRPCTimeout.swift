/// The value of `grpc-timeout`, one to eight digits and a unit. Source: gRPC over HTTP/2, "Timeout".
enum GRPCTimeout: Hashable {
    /// No timeout.
    case none
    case after(ms: Int64)
    case malformed

    static let exceeded = GRPCStatus(code: 4, message: "the deadline has passed")
    /// One day; longer timeouts are clamped, since each holds a timer.
    private static let msMax: Int64 = 24 * 3_600_000

    static func milliseconds(_ header: String?) -> GRPCTimeout {
        guard let header else { return .none }
        let digits = header.dropLast()
        guard (1...8).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let value = Int64(digits)
        else { return .malformed }
        let ms: Int64
        switch header.last {
        case "H": ms = value * 3_600_000
        case "M": ms = value * 60_000
        case "S": ms = value * 1_000
        case "m": ms = value
        // Rounded up, so that no deadline is reported as passed too early.
        case "u": ms = (value + 999) / 1_000
        case "n": ms = (value + 999_999) / 1_000_000
        default: return .malformed
        }
        return .after(ms: min(ms, msMax))
    }
}
