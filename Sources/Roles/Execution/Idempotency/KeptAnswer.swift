import JSON
package import LiveModel

/// The answer of a committed mutation as it is kept under its idempotency key: the exact text of `data`, and the errors
/// of single fields.
package struct KeptAnswer: Sendable, Hashable {
    package let data: [UInt8]
    package let errors: [RequestError]

    package init(data: [UInt8], errors: [RequestError]) {
        self.data = data
        self.errors = errors
    }

    /// - Parameter storedErrors: as made by `storedErrors`; nil if there are none.
    /// - Throws: `.internalError` for errors of another form.
    package init(data: [UInt8], storedErrors: [UInt8]?) throws(RequestError) {
        self.data = data
        guard let storedErrors else {
            errors = []
            return
        }
        guard let list = (try? JSONParser.parse(storedErrors))?.arrayValue else {
            throw RequestError(.internalError, "the errors kept under the idempotency key are not readable")
        }
        errors = list.map(RequestError.init(stored:))
    }

    /// The JSON text of the errors; nil if there are none.
    package var storedErrors: [UInt8]? {
        errors.isEmpty ? nil : JSONValue.array(errors.map(\.stored)).compactBytes
    }
}

extension RequestError {
    /// The error with what decides later how much its recipient learns.
    fileprivate var stored: JSONValue {
        var object: JSONObject = ["code": .string(code.rawValue), "message": .string(message)]
        object["path"] = .array(
            path.map { element in
                switch element {
                case .key(let key): .string(key)
                case .index(let index): .int(Int64(index))
                }
            })
        if let retryAfterMs { object["retryAfterMs"] = .int(Int64(retryAfterMs)) }
        if let violation {
            object["violation"] = [
                "table": violation.table.map(JSONValue.string) ?? .null,
                "constraint": violation.constraint.map(JSONValue.string) ?? .null,
                "fields": .array(violation.fields.map(JSONValue.string)),
                "givenFields": .array(violation.givenFields.map(JSONValue.string)),
            ]
        }
        return .object(object)
    }

    fileprivate init(stored: JSONValue) {
        let path = (stored["path"]?.arrayValue ?? []).compactMap { element -> PathElement? in
            switch element {
            case .string(let key): .key(key)
            case .int(let index): .index(Int(index))
            default: nil
            }
        }
        // A code of a later release counts as internal.
        let code = stored["code"]?.stringValue.flatMap(ErrorCode.init(rawValue:)) ?? .internalError
        self.init(code, stored["message"]?.stringValue ?? "", path: path)
        retryAfterMs = if case .int(let ms)? = stored["retryAfterMs"] { Int(ms) } else { nil }
        guard let violation = stored["violation"], !violation.isNull else { return }
        func names(_ key: String) -> [String] { (violation[key]?.arrayValue ?? []).compactMap(\.stringValue) }
        self.violation = ConstraintViolation(
            table: violation["table"]?.stringValue, constraint: violation["constraint"]?.stringValue,
            fields: names("fields"), givenFields: names("givenFields"))
    }
}
