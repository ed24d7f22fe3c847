import JSON

/// `google.protobuf.Struct`, `Value` and `ListValue` as JSON values. Source: google/protobuf/struct.proto.
///
///     Struct    { map<string, Value> fields = 1 }
///     Value     { null_value = 1, number_value = 2, string_value = 3, bool_value = 4,
///                 struct_value = 5, list_value = 6 }
///     ListValue { repeated Value values = 1 }
enum ProtobufStruct {
    /// The maximum nesting of objects and lists.
    static let depthMax = 64

    // MARK: Reading

    static func object(_ bytes: ArraySlice<UInt8>, depth: Int = 0) throws(ProtobufError) -> JSONObject {
        guard depth < depthMax else { throw ProtobufError(message: "values are nested too deep") }
        var object = JSONObject()
        var reader = ProtobufReader(bytes)
        while let field = try reader.next() {
            guard field.number == 1 else { continue }
            var key = ""
            var value = JSONValue.null
            var entry = ProtobufReader(try field.bytes)
            while let part = try entry.next() {
                switch part.number {
                case 1: key = try part.string
                case 2: value = try self.value(try part.bytes, depth: depth + 1)
                default: break
                }
            }
            object[key] = value
        }
        return object
    }

    private static func value(_ bytes: ArraySlice<UInt8>, depth: Int) throws(ProtobufError) -> JSONValue {
        var value = JSONValue.null
        var reader = ProtobufReader(bytes)
        while let field = try reader.next() {
            switch field.number {
            case 1: value = .null
            case 2:
                guard case .fixed64(let bits) = field.payload else {
                    throw ProtobufError(message: "a number has a wrong type")
                }
                value = try number(Double(bitPattern: bits))
            case 3: value = .string(try field.string)
            case 4: value = .bool(try field.bool)
            case 5: value = .object(try object(try field.bytes, depth: depth))
            case 6: value = .array(try list(try field.bytes, depth: depth))
            default: break
            }
        }
        return value
    }

    static func list(_ bytes: ArraySlice<UInt8>, depth: Int = 0) throws(ProtobufError) -> [JSONValue] {
        guard depth < depthMax else { throw ProtobufError(message: "values are nested too deep") }
        var values: [JSONValue] = []
        var reader = ProtobufReader(bytes)
        while let field = try reader.next() {
            if field.number == 1 { values.append(try value(try field.bytes, depth: depth + 1)) }
        }
        return values
    }

    /// All numbers are doubles here; integral ones become integers in JSON.
    private static func number(_ double: Double) throws(ProtobufError) -> JSONValue {
        guard double.isFinite else { throw ProtobufError(message: "a number is not finite") }
        if let whole = Int64(exactly: double), !(double == 0 && double.sign == .minus) { return .int(whole) }
        return .double(double)
    }

    // MARK: Writing

    static func bytes(of object: JSONObject) -> [UInt8] {
        var writer = ProtobufWriter()
        for entry in object.entries {
            var pair = ProtobufWriter()
            pair.field(1, string: entry.key)
            pair.field(2, bytes(of: entry.value))
            writer.field(1, pair.bytes)
        }
        return writer.bytes
    }

    /// The fields of a `ListValue`.
    static func bytes(of list: [JSONValue]) -> [UInt8] {
        var writer = ProtobufWriter()
        for value in list { writer.field(1, bytes(of: value)) }
        return writer.bytes
    }

    private static func bytes(of value: JSONValue) -> [UInt8] {
        var writer = ProtobufWriter()
        switch value {
        case .null: writer.field(1, varint: 0)
        case .int(let number): writer.field(2, double: Double(number))
        case .double(let number): writer.field(2, double: number)
        case .string(let text): writer.field(3, string: text)
        case .bool(let flag): writer.field(4, varint: flag ? 1 : 0)
        case .object(let object): writer.field(5, bytes(of: object))
        case .array(let values): writer.field(6, bytes(of: values))
        }
        return writer.bytes
    }
}
