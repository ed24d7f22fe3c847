// The part of the module's public surface that generated code uses.

public struct Timestamp: Codable, Hashable, Sendable {
    public let seconds: Int64
    public let nanoseconds: Int32
}
