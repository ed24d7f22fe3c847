public import FreshetClient

/// How well a lot is preserved.
public enum Grade: OpenEnum {
    case MINT
    case GOOD
    case WORN
    /// A value that this app does not know yet.
    case _UNKNOWN(String)

    public static let knownCases: [Grade] = [.MINT, .GOOD, .WORN]

    public init(name: String) {
        switch name {
        case "MINT": self = .MINT
        case "GOOD": self = .GOOD
        case "WORN": self = .WORN
        default: self = ._UNKNOWN(name)
        }
    }

    public var name: String {
        switch self {
        case .MINT: "MINT"
        case .GOOD: "GOOD"
        case .WORN: "WORN"
        case ._UNKNOWN(let name): name
        }
    }
}
