/// Which vectors are not run, and why. Everything else in the folder of vectors runs and counts.
enum Skips {
    /// Extension libraries by the tag that the vectors carry that are not offered. Offered are strings, math, encoders,
    /// optional, bindings, and lists, which has no vectors.
    static let notOffered: [String: String] = [
        "network": "network library (ip, cidr)",
        "two_var_comprehensions": "macros with two variables (transformList, transformMap, …)",
        "strong_enums": "enums as types of their own",
        "block": "cel.block and cel.index",
        "proto_ext": "proto.getExt and proto.hasExt",
    ]

    /// Values are JSON; there are no protocol buffer messages.
    static let needsProto = "needs protocol buffers"

    /// Nil when the vector is to run. A tag that is not listed above is a reason to run it: it will fail and be seen.
    static func reason(needsProto: Bool, extensions: [String]) -> String? {
        if needsProto { return Self.needsProto }
        return extensions.first { notOffered[$0] != nil }.map { "not offered: \($0)" }
    }
}
