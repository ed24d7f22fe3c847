package import JSON
package import LiveModel

/// Bounds of the variables of one request: they stay in gateways, streams and workers for as long as the live query.
package struct VariableLimits: Sendable {
    package let depthMax: Int
    /// Of their canonical text.
    package let bytesMax: Int

    package init(depthMax: Int, bytesMax: Int) {
        self.depthMax = depthMax
        self.bytesMax = bytesMax
    }

    /// - Throws: `.payloadTooLarge`.
    package func check(_ variables: JSONObject) throws(RequestError) {
        guard variables.entries.allSatisfy({ Self.depth(of: $0.value, within: depthMax - 1) }) else {
            throw RequestError(.payloadTooLarge, "the variables are nested deeper than \(depthMax)")
        }
        // Mostly it is plain that they are small, without writing them.
        guard
            Self.bytesAtMost(.object(variables)) <= bytesMax
                || JSONValue.object(variables).compactBytes.count <= bytesMax
        else {
            throw RequestError(.payloadTooLarge, "the variables are larger than \(bytesMax) bytes")
        }
    }

    /// No JSON text of it is longer: a character needs six bytes at most, a number 25 (`-0.0000019643901380568704`).
    private static func bytesAtMost(_ value: JSONValue) -> Int {
        switch value {
        case .string(let text): 6 * text.utf8.count + 2
        case .array(let values): values.reduce(2) { $0 + bytesAtMost($1) + 1 }
        case .object(let object):
            object.entries.reduce(2) { $0 + 6 * $1.key.utf8.count + bytesAtMost($1.value) + 4 }
        default: 25
        }
    }

    private static func depth(of value: JSONValue, within limit: Int) -> Bool {
        switch value {
        case .array(let values): limit > 0 && values.allSatisfy { depth(of: $0, within: limit - 1) }
        case .object(let object): limit > 0 && object.entries.allSatisfy { depth(of: $0.value, within: limit - 1) }
        default: true
        }
    }
}
