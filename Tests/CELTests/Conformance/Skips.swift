/// Which vectors are not run, and why. Everything else in the folder of vectors runs and counts.
enum Skips {
    /// Extension libraries by the tag that the vectors carry; none of them is offered.
    static let notOffered: [String: String] = [
        "strings": "string library (charAt, indexOf, replace, split, format, …)",
        "math": "math library (math.greatest, bit operations, rounding, …)",
        "optional": "optional values (optional.of, .?, [?])",
        "network": "network library (ip, cidr)",
        "two_var_comprehensions": "macros with two variables (transformList, transformMap, …)",
        "strong_enums": "enums as types of their own",
        "block": "cel.block and cel.index",
        "proto_ext": "proto.getExt and proto.hasExt",
        "bindings": "cel.bind",
        "encoders": "base64.encode and base64.decode",
    ]

    /// Values are JSON; there are no protocol buffer messages.
    static let needsProto = "needs protocol buffers"

    /// Nil when the vector is to run. A tag that is not listed above is a reason to run it: it will fail and be seen.
    static func reason(needsProto: Bool, extensions: [String]) -> String? {
        if needsProto { return Self.needsProto }
        return extensions.first { notOffered[$0] != nil }.map { "not offered: \($0)" }
    }
}
