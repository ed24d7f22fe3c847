package import JSON

/// The text around a result's body. The body is inserted unchanged, never re-encoded.
package enum ResultEnvelope {
    /// The beginning `{"data":` of each envelope that has data.
    package static let dataKey = Array(#"{"data":"#.utf8)

    /// The body beside the errors of a run that has no result.
    package static let null = Array("null".utf8)

    /// Returns `{"data":BODY}`.
    package static func data(_ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + 9)
        bytes.append(contentsOf: dataKey)
        bytes.append(contentsOf: body)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Returns `{"data":BODY,"errors":[…]}`, or only the errors without `body`: a request that never ran has no data
    /// key.
    package static func errors(_ errors: [RequestError], body: [UInt8]? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        if let body {
            bytes.append(contentsOf: dataKey)
            bytes.append(contentsOf: body)
            bytes.append(contentsOf: #","errors":"#.utf8)
        } else {
            bytes.append(contentsOf: #"{"errors":"#.utf8)
        }
        bytes.append(contentsOf: JSONValue.array(errors.map(\.graphQLError)).compactBytes)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}
