package import JSON
package import LiveModel

/// A result of the database as expressions and checks see it.
///
/// Values of type `Any` may be nested deeper, and have larger numbers, than expressions can handle: Postgres stores
/// both.
package enum CheckedValue {
    package static let limits = JSONLimits(depthMax: 512, bytesMax: .max)

    /// - Throws: `.databaseError` with the reason why the value cannot be read.
    package static func parse(_ text: [UInt8]) throws(RequestError) -> JSONValue {
        do {
            return try JSONParser.parse(text, limits: limits)
        } catch {
            throw RequestError(
                .databaseError, "a stored value cannot be read by expressions and checks: \(error.code.text)")
        }
    }
}
