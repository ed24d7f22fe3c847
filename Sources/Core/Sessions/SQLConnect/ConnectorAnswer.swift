import JSON
package import LiveModel

extension OperationAnswer {
    /// The answer of an operation that failed before it had a result: bad variables, a check that does not hold.
    package init(failed errors: [RequestError]) {
        self.init(body: Array("null".utf8), errors: errors)
    }

    /// The members of an answer to SQL Connect clients: `"data":…,"errors":[…],"extensions":{"dataConnect":[…]}`, the
    /// last two only if there are any.
    package var sqlConnectMembers: [UInt8] { Array(#""data":"#.utf8) + sqlConnectValue }

    /// The same after `"data":`.
    var sqlConnectValue: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount + 64)
        bytes.append(contentsOf: body)
        if !errors.isEmpty {
            bytes.append(contentsOf: #","errors":"#.utf8)
            JSONWriter.append(.array(errors.map(\.sqlConnectError)), to: &bytes)
        }
        if !entities.isEmpty {
            bytes.append(contentsOf: #","extensions":{"dataConnect":"#.utf8)
            bytes.append(contentsOf: entities)
            bytes.append(UInt8(ascii: "}"))
        }
        return bytes
    }

    /// The body of a REST answer.
    package var sqlConnectObject: [UInt8] {
        [UInt8(ascii: "{")] + sqlConnectMembers + [UInt8(ascii: "}")]
    }
}
