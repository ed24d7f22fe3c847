package import JSON
package import LiveModel

/// The limits on the variables of one request. Variables stay in gateways, streams and workers as long as the live
/// query.
package struct VariableLimits: Sendable {
    package let depthMax: Int
    /// The size of their canonical text.
    package let bytesMax: Int

    package init(depthMax: Int, bytesMax: Int) {
        self.depthMax = depthMax
        self.bytesMax = bytesMax
    }

    /// Checks variables against the limits.
    /// - Throws: `.payloadTooLarge`.
    package func check(_ variables: JSONObject) throws(RequestError) {
        guard variables.entries.allSatisfy({ Self.depth(of: $0.value, within: depthMax - 1) }) else {
            throw RequestError(.payloadTooLarge, "the variables are nested deeper than \(depthMax)")
        }
        // An upper bound usually suffices, without encoding them.
        guard
            Self.bytesAtMost(.object(variables)) <= bytesMax
                || JSONValue.object(variables).compactBytes.count <= bytesMax
        else {
            throw RequestError(.payloadTooLarge, "the variables are larger than \(bytesMax) bytes")
        }
    }

    /// Returns an upper bound of the JSON text: a character needs at most six bytes, a number 25
    /// (`-0.0000019643901380568704`).
    private static func bytesAtMost(_ value: JSONValue) -> Int {
        switch value {
        case .string(let text): 6 * text.utf8.count + 2
        case .array(let values): values.reduce(2) { $0 + bytesAtMost($1) + 1 }
        case .object(let object):
            object.entries.reduce(2) { $0 + 6 * $1.key.utf8.count + bytesAtMost($1.value) + 4 }
        case .null, .bool, .int, .double: 25
        }
    }

    private static func depth(of value: JSONValue, within limit: Int) -> Bool {
        switch value {
        case .array(let values): limit > 0 && values.allSatisfy { depth(of: $0, within: limit - 1) }
        case .object(let object): limit > 0 && object.entries.allSatisfy { depth(of: $0.value, within: limit - 1) }
        case .null, .bool, .int, .double, .string: true
        }
    }
}
