/// Merges values of custom resolvers into results.
package enum RemoteResults {
    /// Replaces the nulls in the database's result with the values of custom resolvers.
    /// - Parameter values: JSON texts by response key.
    package static func merge(_ body: [UInt8], _ values: [String: [UInt8]]) -> [UInt8] {
        body.withUnsafeBufferPointer { merge($0, values) }
    }

    private static func merge(_ body: UnsafeBufferPointer<UInt8>, _ values: [String: [UInt8]]) -> [UInt8] {
        var scanner = JSONTextScanner(body)
        var merged: [UInt8] = []
        merged.reserveCapacity(values.reduce(body.count) { $0 + $1.value.count })
        scanner.skipBlanks()
        merged.append(scanner.take())
        scanner.skipBlanks()
        while !scanner.isAtEnd, scanner.byte != UInt8(ascii: "}") {
            if scanner.byte == UInt8(ascii: ",") { merged.append(scanner.take()) }
            scanner.skipBlanks()
            let key = scanner.takeValue()
            scanner.skipBlanks()
            merged.append(contentsOf: key)
            merged.append(scanner.take())
            scanner.skipBlanks()
            let value = scanner.takeValue()
            // Response keys are GraphQL names, which contain no escapes.
            let name = String(decoding: key.dropFirst().dropLast(), as: UTF8.self)
            if let given = values[name] {
                merged.append(contentsOf: given)
            } else {
                merged.append(contentsOf: value)
            }
            scanner.skipBlanks()
        }
        merged.append(UInt8(ascii: "}"))
        return merged
    }
}
