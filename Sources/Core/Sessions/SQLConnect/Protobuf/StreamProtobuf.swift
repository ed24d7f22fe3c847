import JSON
package import LiveModel

/// The messages of `google.firebase.dataconnect.v1`. Source: docs/reference/sql-connect.md §3, which gives the numbers;
/// `Tests/Integration/Python/connector_service.proto` defines the same messages.
package enum StreamProtobuf: StreamEncoding {
    package static let protocolName = "sql-connect-grpc"
    package static let format = ResultFormat.sqlConnectProtobuf
    package static let endsWhenUnauthenticated = true

    // MARK: StreamRequest

    package static func decode(_ bytes: [UInt8]) throws(StreamFrameError) -> StreamRequest {
        var request = StreamRequest()
        do throws(ProtobufError) {
            var reader = ProtobufReader(bytes[...])
            while let field = try reader.next() {
                switch field.number {
                case 1: request.name = try field.string
                case 2: request.requestID = try field.string
                case 3: request.kind = .subscribe(try execute(try field.bytes))
                case 4: request.kind = .execute(try execute(try field.bytes))
                case 5: request.kind = .resume
                case 6: request.kind = .cancel
                case 10:
                    let (key, value) = try header(try field.bytes)
                    request.headers[key.lowercased()] = value
                default: break
                }
            }
        } catch {
            throw StreamFrameError(
                requestID: request.requestID.isEmpty ? nil : request.requestID, message: error.message)
        }
        switch request.kind {
        case .subscribe(let wanted), .execute(let wanted):
            guard !wanted.operationName.isEmpty else {
                throw StreamFrameError(requestID: request.requestID, message: "\"operation_name\" is missing")
            }
        case .resume, .cancel, nil: break
        }
        return request
    }

    private static func execute(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) -> StreamRequest.Execute {
        var wanted = StreamRequest.Execute(operationName: "", variables: JSONObject())
        var reader = ProtobufReader(bytes)
        while let field = try reader.next() {
            switch field.number {
            case 2: wanted.operationName = try field.string
            case 3: wanted.variables = try ProtobufStruct.object(try field.bytes)
            default: break
            }
        }
        return wanted
    }

    private static func header(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) -> (String, String) {
        var entry = ("", "")
        var reader = ProtobufReader(bytes)
        while let field = try reader.next() {
            switch field.number {
            case 1: entry.0 = try field.string
            case 2: entry.1 = try field.string
            default: break
            }
        }
        return entry
    }

    // MARK: StreamResponse

    package static func encode(_ response: StreamResponse) -> [UInt8] {
        prefix(requestID: response.requestID) + rest(response.answer)
    }

    static func prefix(requestID: String) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.field(1, string: requestID)
        return writer.bytes
    }

    static func rest(_ answer: OperationAnswer) -> [UInt8] {
        answer.protobuf(data: 2, errors: 3, extensions: 6)
    }

    // MARK: ExecuteQuery, ExecuteMutation

    /// `ExecuteQueryRequest` and `ExecuteMutationRequest`, which have the same fields.
    package static func unaryRequest(
        _ bytes: [UInt8]
    ) throws(ProtobufError) -> (name: String, wanted: StreamRequest.Execute) {
        var name = ""
        var reader = ProtobufReader(bytes[...])
        while let field = try reader.next() {
            if field.number == 1 { name = try field.string }
        }
        return (name, try execute(bytes[...]))
    }

    /// `ExecuteQueryResponse` and `ExecuteMutationResponse`.
    package static func unaryResponse(_ answer: OperationAnswer) -> [UInt8] {
        answer.protobuf(data: 1, errors: 2, extensions: 3)
    }

    /// `EmulatorInfo`.
    package static func emulatorInfo(version: String, service: String, connectionString: String) -> [UInt8] {
        var info = ProtobufWriter()
        info.field(1, string: version)
        var entry = ProtobufWriter()
        entry.field(1, string: service)
        entry.field(2, string: connectionString)
        info.field(2, entry.bytes)
        return info.bytes
    }
}

extension OperationAnswer {
    /// A generous limit: results are the database's own texts, and bounded where they are read.
    private static var limits: JSONLimits { JSONLimits(depthMax: 512, bytesMax: .max) }

    /// The fields of an answer. Null `data` is left out.
    fileprivate func protobuf(data: Int, errors errorsField: Int, extensions: Int) -> [UInt8] {
        var writer = ProtobufWriter()
        var errors = errors
        do {
            if case .object(let object) = try JSONParser.parse(body, limits: Self.limits) {
                writer.field(data, ProtobufStruct.bytes(of: object))
            }
        } catch {
            errors.append(
                RequestError(.databaseError, "a stored value cannot be written as a message: \(error.code.text)"))
        }
        for error in errors { writer.field(errorsField, error.protobuf) }
        if !entities.isEmpty, case .array(let entries)? = try? JSONParser.parse(entities, limits: Self.limits) {
            var response = ProtobufWriter()
            for entry in entries { response.field(1, Self.properties(entry)) }
            writer.field(extensions, response.bytes)
        }
        return writer.bytes
    }

    /// `DataConnectProperties`.
    private static func properties(_ entry: JSONValue) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.field(1, ProtobufStruct.bytes(of: entry["path"]?.arrayValue ?? []))
        if let id = entry["entityId"]?.stringValue { writer.field(2, string: id) }
        for id in entry["entityIds"]?.arrayValue ?? [] { writer.field(3, string: id.stringValue ?? "") }
        return writer.bytes
    }
}

extension RequestError {
    /// `GraphqlError`.
    fileprivate var protobuf: [UInt8] {
        let json = sqlConnectError
        var writer = ProtobufWriter()
        writer.field(1, string: message)
        writer.field(3, ProtobufStruct.bytes(of: json["path"]?.arrayValue ?? []))
        var extensions = ProtobufWriter()
        extensions.field(2, varint: UInt64(RPCCode(code).rawValue))
        if let details = json["extensions"]?["debugDetails"]?.stringValue { extensions.field(3, string: details) }
        writer.field(4, extensions.bytes)
        return writer.bytes
    }
}
